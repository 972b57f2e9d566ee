(** Which of k: one answer among k public ones (docs/theory.md, "Which of k"; line/which.py).

    A dataset has a true answer and a distance, the people who must change before any other answer is true, less one. Neighbours
    have the same answer and distances that differ by at most one; or other answers, and then both are at distance 0. Each
    answer has an order of preference over all of them. A place in that order is drawn, and the answer there released, so a
    mechanism is a row of k chances for each distance.

    In the first row the others are alike. Then either all prefix sums move by phi, or the truth alone does, and the others stay
    alike. Both are private over all events; of all that begin with the same row the first has the largest prefix sums. *)

From Coq Require Import Reals Lra Lia Psatz List Permutation Bool.
From Duotone Require Import Step Graph Sum MarginPrivate.
Import ListNotations.
Open Scope R_scope.

(** Over any event, both ways round. *)
Definition both_ways (P : privacy) n (p q : nat -> R) := forall T,
  likely n p T <= ratio P * likely n q T + delta P /\ likely n q T <= ratio P * likely n p T + delta P.

Section Which.
Variable P : privacy.
Notation phi := (step P).

(** ** Prefix sums that move by phi *)

(** The chances of the first i places, for each i. *)
Definition sums k (u : nat -> R) := u 0%nat = 0 /\ u k = 1 /\ forall i, (i < k)%nat -> u i <= u (i + 1)%nat.
Definition by_sums (u : nat -> R) (i : nat) : R := u (i + 1)%nat - u i.

Lemma sums_total k u m : u 0%nat = 0 -> (m <= k)%nat -> total m (by_sums u) = u m.
Proof.
  intros Z L. induction m as [| m IH]; cbn [total]; [auto|]. rewrite IH by lia. unfold by_sums. rewrite Nat.add_1_r. ring.
Qed.

Lemma sums_distribution k u : sums k u -> distribution k (by_sums u).
Proof.
  intros (Z & W & U). split; [intros i Hi; specialize (U i Hi); unfold by_sums; lra|]. rewrite (sums_total k) by auto. exact W.
Qed.

(** All prefix sums of one row are phi of those of the other: then any event is so at most. *)
Theorem sums_step k u v : sums k u -> sums k v -> (forall i, (1 <= i <= k)%nat -> v i = phi (u i)) -> forall T,
  likely k (by_sums v) T <= phi (likely k (by_sums u) T) /\ likely k (by_sums u) T <= phi (likely k (by_sums v) T).
Proof.
  intros Hu Hv M. pose proof Hu as (Zu & Wu & Uu). pose proof Hv as (Zv & Wv & Uv).
  assert (H : forall T, likely k (by_sums v) T <= phi (likely k (by_sums u) T)).
  { intros T. apply (event_within_phi P k u v T Zu Zv); [intros i Hi; split; auto | | lra]. intros [| i] Hi.
    - right. rewrite Zu, Zv. split; [reflexivity|]. pose proof (step_extends P 0). lra.
    - left. apply M. lia. }
  intros T. split; [apply H|]. specialize (H (fun i => negb (T i))).
  rewrite !likely_complement in H by (apply sums_distribution; assumption).
  pose proof (likely_probability _ _ T (sums_distribution k u Hu)) as [? ?].
  pose proof (likely_probability _ _ T (sums_distribution k v Hv)) as [? ?].
  rewrite (step_symmetric P (likely k (by_sums v) T)) by lra. exact H.
Qed.

(** So it is with rows that begin anywhere, n steps on. *)
Definition moved n (u : nat -> R) (i : nat) : R := match i with O => 0 | _ => steps P n (u i) end.

Lemma steps_one n : steps P n 1 = 1.
Proof.
  induction n as [| n IH]; cbn [steps]; [reflexivity|]. rewrite IH.
  apply Rle_antisym; [apply step_most | apply step_extends; lra].
Qed.

Lemma sums_range k u i : sums k u -> (i <= k)%nat -> probability (u i).
Proof.
  intros (Z & W & U) L.
  assert (A : forall m, (m <= k)%nat -> 0 <= u m).
  { induction m as [| m IH]; intros Hm; [lra|]. specialize (U m ltac:(lia)). specialize (IH ltac:(lia)).
    rewrite Nat.add_1_r in U. lra. }
  assert (B : forall m, (m <= k)%nat -> u (k - m)%nat <= 1).
  { induction m as [| m IH]; intros Hm; [rewrite Nat.sub_0_r; lra|]. specialize (U (k - S m)%nat ltac:(lia)).
    replace (k - S m + 1)%nat with (k - m)%nat in U by lia. specialize (IH ltac:(lia)). lra. }
  split; [apply A, L|]. replace i with (k - (k - i))%nat by lia. apply B. lia.
Qed.

Lemma moved_sums k n u : (1 <= k)%nat -> sums k u -> sums k (moved n u).
Proof.
  intros K Hu. pose proof Hu as (Z & W & U). split; [reflexivity|]. split.
  - destruct k; [lia|]. cbn [moved]. rewrite W. apply steps_one.
  - intros [| i] Hi; rewrite Nat.add_1_r; cbn [moved].
    + apply steps_probability. apply (sums_range k u); [exact Hu | lia].
    + apply steps_increase. specialize (U (S i) Hi). rewrite Nat.add_1_r in U. exact U.
Qed.

Lemma within_both_ways k p q : distribution k p -> distribution k q ->
  (forall T, likely k p T <= phi (likely k q T) /\ likely k q T <= phi (likely k p T)) -> both_ways P k p q.
Proof. intros Hp Hq H T. destruct (H T) as [A B]. apply le_step in A, B. tauto. Qed.

Theorem ordered_private k u n : (1 <= k)%nat -> sums k u -> both_ways P k (by_sums (moved n u)) (by_sums (moved (S n) u)).
Proof.
  intros K Hu. apply within_both_ways; try (apply sums_distribution, moved_sums; assumption). intros T.
  destruct (sums_step k (moved n u) (moved (S n) u)) with (T := T) as [A B];
    try (apply moved_sums; assumption); [|split; assumption].
  intros [| i] Hi; [lia | reflexivity].
Qed.

(** No mechanism that begins with the same chance of an event gives it more; so none has larger prefix sums. *)
Lemma event_step k p q T : distribution k p -> distribution k q -> both_ways P k p q -> likely k q T <= phi (likely k p T).
Proof.
  intros Hp Hq H. pose proof (likely_probability _ _ T Hp) as [? ?]. pose proof (likely_probability _ _ T Hq) as [? ?].
  apply le_step. destruct (H T) as [_ A]. destruct (H (fun i => negb (T i))) as [B _].
  rewrite !likely_complement in B by assumption. lra.
Qed.

Theorem event_most k (N : nat -> nat -> R) T x :
  (forall n, distribution k (N n)) -> (forall n, both_ways P k (N n) (N (S n))) ->
  likely k (N 0%nat) T <= x -> forall n, likely k (N n) T <= steps P n x.
Proof.
  intros D H X n. induction n as [| n IH]; [exact X|]. cbn [steps].
  apply Rle_trans with (phi (likely k (N n) T)); [apply event_step; auto | apply step_increases, IH].
Qed.

(** ** Others that are alike *)

Definition alike k t (i : nat) : R := match i with O => t | _ => (1 - t) / INR (k - 1) end.

Lemma total_first n f : total (S n) f = f 0%nat + total n (fun i => f (S i)).
Proof. induction n as [| n IH]; [cbn; ring|]. cbn [total] in *. rewrite IH. ring. Qed.

Lemma total_scaled n a f : total n (fun i => f i * a) = total n f * a.
Proof. induction n as [| n IH]; cbn [total]; [ring | rewrite IH; ring]. Qed.

Lemma total_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> total n f = total n g.
Proof.
  induction n as [| n IH]; intros E; cbn [total]; [reflexivity|]. rewrite IH, E by (intros; auto with arith). reflexivity.
Qed.

(** An event is the truth or not, and a share of the others. *)
Lemma alike_likely k T : (2 <= k)%nat -> exists b, 0 <= b <= 1 /\ forall t,
  likely k (alike k t) T = (if T 0%nat then t else 0) + b * (1 - t).
Proof.
  intros K. destruct k as [| [| k]]; try lia. set (c := total (S k) (fun i => if T (S i) then 1 else 0)).
  assert (C : 0 <= c <= INR (S k)).
  { unfold c. clear. induction (S k) as [| m IH]; [cbn; lra|]. cbn [total]. rewrite S_INR. destruct (T (S m)); lra. }
  assert (N : 0 < INR (S k)) by (apply lt_0_INR; lia).
  exists (c / INR (S k)). split.
  - split; [apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat, N]|].
    apply Rmult_le_reg_r with (INR (S k)); [exact N|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  - intros t. unfold likely. rewrite total_first. cbn [alike]. f_equal; [destruct (T 0%nat); ring|].
    replace (S (S k) - 1)%nat with (S k) by lia. rewrite (total_scaled (S k) ((1 - t) / INR (S k))). fold c. field. lra.
Qed.

Theorem alike_private k t t' : (2 <= k)%nat -> probability t -> probability t' -> t <= phi t' -> t' <= phi t ->
  both_ways P k (alike k t) (alike k t').
Proof.
  intros K [? ?] [? ?] A B T. apply le_step in A, B. of_privacy P.
  destruct (alike_likely k T K) as (b & [? ?] & E). rewrite !E.
  destruct A as (_ & A1 & A2), B as (_ & B1 & B2).
  assert (W : forall x z, x <= z -> b * x <= b * z /\ (1 - b) * x <= (1 - b) * z)
    by (intros; split; apply Rmult_le_compat_l; lra).
  assert (b <= ratio P * b) by nra. assert (0 <= b * delta P) by nra. assert (b * delta P <= delta P) by nra.
  destruct (W _ _ A1), (W _ _ A2), (W _ _ B1), (W _ _ B2). destruct (T 0%nat); split; lra.
Qed.

(** ** Two answers at distance 0 *)

Definition first (t q : R) (i : nat) : R := match i with O => t | _ => q end.

(** How many answers of a list are in a set. *)
Fixpoint members (T : nat -> bool) (l : list nat) : R :=
  match l with [] => 0 | a :: l => (if T a then 1 else 0) + members T l end.

Lemma members_least T l : 0 <= members T l.
Proof. induction l as [| a l IH]; cbn; [lra|]. destruct (T a); lra. Qed.

Lemma members_permuted T l l' : Permutation l l' -> members T l = members T l'.
Proof. induction 1; cbn; lra. Qed.

Lemma first_likely t q a l T :
  likely (S (length l)) (first t q) (fun i => T (nth i (a :: l) 0%nat)) = (if T a then t else 0) + q * members T l.
Proof.
  unfold likely. rewrite total_first. cbn [first nth]. f_equal; [destruct (T a); ring|].
  induction l as [| c l IH]; [cbn; ring|]. cbn [length]. rewrite total_first. cbn [nth]. rewrite IH. cbn [members].
  destruct (T c); ring.
Qed.

(** Both orders have all answers, each once; what a set has of the others does not depend on whose others they are. *)
Theorem first_private t q o o' T : 0 <= q <= t -> t <= ratio P * q + delta P -> Permutation o o' -> o <> [] ->
  likely (length o) (first t q) (fun i => T (nth i o 0%nat)) <=
  ratio P * likely (length o) (first t q) (fun i => T (nth i o' 0%nat)) + delta P.
Proof.
  intros Q H E N. pose proof (Permutation_length E) as L. pose proof (members_permuted T _ _ E) as M. of_privacy P.
  destruct o as [| a o]; [congruence|]. destruct o' as [| a' o']; [discriminate|]. cbn [length] in *. injection L as L.
  rewrite first_likely, L, first_likely. cbn [members] in M. pose proof (members_least T o). pose proof (members_least T o').
  set (m := members T o) in *. set (m' := members T o') in *.
  assert (0 <= q * m' <= ratio P * (q * m')) by (assert (0 <= q * m') by (apply Rmult_le_pos; lra); nra).
  assert (0 <= q * m <= ratio P * (q * m)) by (assert (0 <= q * m) by (apply Rmult_le_pos; lra); nra).
  assert (t <= ratio P * t) by nra.
  destruct (T a), (T a'); [replace m with m' by lra | replace m' with (1 + m) by lra | replace m with (1 + m') by lra |
    replace m with m' by lra]; lra.
Qed.

(** With the truth t and all others alike there is a most that t can be, reached where the inequality is an equation. *)
Theorem first_most k t q : (2 <= k)%nat -> t + INR (k - 1) * q = 1 -> t <= ratio P * q + delta P ->
  t <= (ratio P + INR (k - 1) * delta P) / (ratio P + INR (k - 1)).
Proof.
  intros K S H. of_privacy P. assert (N : 1 <= INR (k - 1)) by (apply (le_INR 1); lia).
  apply Rmult_le_reg_r with (ratio P + INR (k - 1)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.

(** Nor does it help to treat answers differently: whatever their truths are, at datasets of which each is beside each other
    one, these are no more on average. *)
Theorem mean_most k (M : nat -> nat -> R) : (2 <= k)%nat -> (forall a, (a < k)%nat -> distribution k (M a)) ->
  (forall a b, (a < k)%nat -> (b < k)%nat -> a <> b -> M a a <= ratio P * M b a + delta P) ->
  total k (fun a => M a a) / INR k <= (ratio P + INR (k - 1) * delta P) / (ratio P + INR (k - 1)).
Proof.
  intros K D H. of_privacy P. set (s := total k (fun a => M a a)).
  assert (Swap : forall m n f, total m (fun a => total n (fun b => f a b)) = total n (fun b => total m (fun a => f a b))).
  { clear. intros m n f. induction m as [| m IH]; cbn [total].
    - induction n as [| n IHn]; cbn [total]; [reflexivity | rewrite <- IHn; ring].
    - rewrite IH. clear IH. induction n as [| n IHn]; cbn [total]; [ring | rewrite <- IHn; ring]. }
  assert (Const : forall n c, total n (fun _ => c) = INR n * c).
  { clear. induction n as [| n IH]; intros c; [cbn; ring|]. cbn [total]. rewrite IH, S_INR. ring. }
  assert (Single : forall n a c, (a < n)%nat -> total n (fun b => if Nat.eqb b a then c else 0) = c).
  { clear. induction n as [| n IH]; intros a c L; [lia|]. cbn [total]. destruct (Nat.eqb_spec n a) as [-> | Ne].
    - rewrite (total_ext a _ (fun _ => 0)); [|intros i Hi; destruct (Nat.eqb_spec i a); [lia | reflexivity]].
      clear. induction a as [| a IH]; cbn [total]; lra.
    - rewrite IH by lia. ring. }
  assert (INRk : INR k = INR (k - 1) + 1) by (rewrite <- S_INR; f_equal; lia).
  assert (N : 1 <= INR (k - 1)) by (apply (le_INR 1); lia).
  (* each truth, against all answers of the others *)
  assert (Row : INR (k - 1) * s <= ratio P * (INR k - s) + INR k * INR (k - 1) * delta P).
  { assert (A : forall a, (a < k)%nat ->
      INR (k - 1) * M a a <= ratio P * (total k (fun b => M b a) - M a a) + INR (k - 1) * delta P).
    { intros a Ha.
      assert (B : total k (fun b => if Nat.eqb b a then 0 else M a a) <=
                  total k (fun b => ratio P * (M b a - (if Nat.eqb b a then M a a else 0)) +
                                    (delta P - (if Nat.eqb b a then delta P else 0)))).
      { apply total_le. intros b Hb. destruct (Nat.eqb_spec b a) as [-> | Ne]; [lra|].
        specialize (H a b Ha Hb ltac:(auto)). lra. }
      replace (total k (fun b => if Nat.eqb b a then 0 else M a a)) with (INR (k - 1) * M a a) in B.
      - rewrite (total_ext k _ (fun b => ratio P * (M b a + -1 * (if Nat.eqb b a then M a a else 0)) +
          1 * (delta P + -1 * (if Nat.eqb b a then delta P else 0)))) in B by (intros; ring).
        rewrite total_plus in B.
        rewrite (total_ext k (fun b => M b a + _) (fun b => 1 * M b a + -1 * (if Nat.eqb b a then M a a else 0))) in B
          by (intros; ring).
        rewrite (total_ext k (fun b => delta P + _) (fun b => 1 * delta P + -1 * (if Nat.eqb b a then delta P else 0))) in B
          by (intros; ring).
        rewrite !total_plus, !Single, Const in B by exact Ha. rewrite INRk in B. lra.
      - rewrite (total_ext k _ (fun b => 1 * M a a + -1 * (if Nat.eqb b a then M a a else 0)));
          [|intros b _; destruct (Nat.eqb b a); ring].
        rewrite total_plus, Single, Const, INRk by exact Ha. ring. }
    pose proof (total_le k _ _ A) as B.
    rewrite (total_ext k (fun a => INR (k - 1) * M a a) (fun a => INR (k - 1) * M a a + 0 * M a a)) in B by (intros; ring).
    rewrite (total_ext k (fun a => ratio P * _ + _)
      (fun a => ratio P * (total k (fun b => M b a) - M a a) + 1 * (INR (k - 1) * delta P))) in B by (intros; ring).
    rewrite !total_plus in B.
    rewrite (total_ext k (fun a => total k (fun b => M b a) - M a a) (fun a => 1 * total k (fun b => M b a) + -1 * M a a)) in B
      by (intros; ring).
    rewrite total_plus, Const, Swap in B. fold s in B.
    rewrite (total_ext k (fun b => total k (fun a => M b a)) (fun _ => 1)), Const in B by (intros b Hb; apply D; exact Hb).
    lra. }
  apply Rmult_le_reg_r with (INR k * (ratio P + INR (k - 1))); [nra|].
  replace (s / INR k * (INR k * (ratio P + INR (k - 1)))) with (s * (ratio P + INR (k - 1))) by (field; lra).
  replace ((ratio P + INR (k - 1) * delta P) / (ratio P + INR (k - 1)) * (INR k * (ratio P + INR (k - 1))))
    with (INR k * (ratio P + INR (k - 1) * delta P)) by (field; lra).
  lra.
Qed.

End Which.
