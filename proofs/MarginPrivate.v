(** The margin in real numbers: for e^eps, on any graph, as a question of the ledger; and why it costs nothing.

    Margin.v checks a table's margin over all events, as integers, with a ratio that is rational. What it accepts is private for
    every larger ratio, so for e^eps ([margin_private]), and may be asked for as a question like any other ([margin_honest]).

    That such a check succeeds is no accident, and needs no larger budget. Let the noise have the line optimum p as its tails,
    so that p (l + 1) = phi (p l). Then over every event the margin is as private as phi allows ([optimal_margin_private]), with
    no slack: phi is concave, so what it adds to a part of [0, 1] is less the further up that part lies. A set of values is a
    union of such parts; moved down to 0, next to each other, they would have phi of their length. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz List Bool.
From Duotone Require Import Step Graph Levels LineMechanism Balanced Table Sum Margin.
Import ListNotations.
Open Scope R_scope.

(** ** What is checked is private *)

(** Clipped levels of datasets, infinite ones too. *)
Definition clipped (cap : Z) (x : level) : Z :=
  match x with finite l => clip cap l | always => cap - 1 | never => - cap end.

Section Checked.
Variables (one lowest cap : Z) (yes : list Z) (y d : Q) (P : privacy).
Hypotheses (one_positive : (0 < one)%Z) (some : yes <> []) (wide_enough : wide one lowest yes cap).
Hypotheses (ratio_least : (Zpos (Qden y) <= Qnum y)%Z) (ratio_below : Q2R y <= ratio P).
Hypotheses (delta_least : (0 <= Qnum d)%Z) (delta_below : Q2R d <= delta P).
Hypothesis accepted : margin_is_private one y d yes = true.

(** The probability of a set of margins. *)
Definition margin_chance (l : Z) (S : Z -> bool) : R := part one (margin one lowest yes l S).

Let rises : rising one yes = true.
Proof. unfold margin_is_private in accepted. apply andb_prop in accepted. apply accepted. Qed.

Lemma margin_chance_probability l S : probability (margin_chance l S).
Proof.
  apply part_probability; [exact one_positive|]. pose proof (heard_range one 0 yes (l - lowest) S rises). unfold margin. lia.
Qed.

Theorem clipped_chances_private l l' S : seen one yes cap S -> (Z.abs (l - l') <= 1)%Z ->
  margin_chance (clip cap l) S <= ratio P * margin_chance (clip cap l') S + delta P.
Proof.
  intros E N.
  pose proof (clipped_private one lowest yes some y d cap l l' S accepted ratio_least delta_least wide_enough E N) as F.
  apply (fits_iff one y d one_positive) in F. pose proof (margin_chance_probability (clip cap l') S) as [? _].
  unfold margin_chance in *. nra.
Qed.

Section Datasets.
Context {G : graph} (levels : G -> level).
Hypothesis smooth : forall a b, near a b -> Levels.within 1 (levels a) (levels b).

(** Any set of margins, between any neighbours: Definition 1. *)
Theorem margin_private S a b : seen one yes cap S -> near a b ->
  margin_chance (clipped cap (levels a)) S <= ratio P * margin_chance (clipped cap (levels b)) S + delta P.
Proof.
  intros E N. specialize (smooth a b N). destruct wide_enough as [C _].
  assert (T : exists l l', clipped cap (levels a) = clip cap l /\ clipped cap (levels b) = clip cap l' /\
                           (Z.abs (l - l') <= 1)%Z).
  { destruct (levels a), (levels b); simpl in smooth |- *; try contradiction; [exists (- cap)%Z, (- cap)%Z | | exists cap, cap];
      [unfold clip; lia | exists z, z0; lia | unfold clip; lia]. }
  destruct T as (l & l' & -> & -> & L). apply clipped_chances_private; assumption.
Qed.

(** *** A question of the ledger: `wider` is [cap], or anything where both ends are the noise's own *)

Variable wider : Z.
Hypothesis nothing_lost : (1 <= wider <= cap)%Z \/ (1 <= wider)%Z /\ ends_above one yes /\ ends_below one yes.

(** Answer number i is the margin i - wider, clamped. *)
Definition margin_answer (k : Z) : Z := (clip wider k + wider)%Z.
Definition margin_law (a : G) (i : nat) : R :=
  margin_chance (clipped cap (levels a)) (fun k => (margin_answer k =? Z.of_nat i)%Z).

Lemma margin_seen S : seen one yes cap (fun k => S (clip wider k)).
Proof.
  destruct nothing_lost as [[A B] | [_ [A B]]]; [|apply bounded_seen; assumption].
  split; right; intros k K; f_equal; unfold clip; lia.
Qed.

Let part_add a b : part one (a + b) = part one a + part one b.
Proof. unfold part. rewrite plus_IZR. field. apply IZR_lt in one_positive. lra. Qed.

Lemma margin_likely n a S : likely n (margin_law a) S = margin_chance (clipped cap (levels a))
    (fun k => (Z.ltb (margin_answer k) (Z.of_nat n) && S (Z.to_nat (margin_answer k)))%bool).
Proof.
  assert (W : (1 <= wider)%Z) by lia. unfold likely, margin_law, margin_chance, margin.
  set (l := (clipped cap (levels a) - lowest)%Z).
  induction n as [| n IH]; cbn [total].
  - rewrite (heard_ext _ _ _ (fun _ => false)); [rewrite heard_nothing; unfold part, Rdiv; ring|].
    intros j. rewrite (proj2 (Z.ltb_ge _ _)); [reflexivity|]. unfold margin_answer, clip. lia.
  - rewrite IH.
    rewrite (heard_split _ _
      (fun k => (Z.ltb (margin_answer k) (Z.of_nat (Datatypes.S n)) && S (Z.to_nat (margin_answer k)))%bool)
      (fun k => (Z.ltb (margin_answer k) (Z.of_nat n) && S (Z.to_nat (margin_answer k)))%bool)
      (fun k => ((margin_answer k =? Z.of_nat n)%Z && S n)%bool)).
    + rewrite part_add. f_equal. destruct (S n) eqn:E.
      * rewrite Rmult_1_l. f_equal. apply heard_ext. intros j. rewrite andb_true_r. reflexivity.
      * rewrite Rmult_0_l. symmetry. rewrite (heard_ext _ _ _ (fun _ => false)) by (intros; apply andb_false_r).
        rewrite heard_nothing. unfold part, Rdiv. ring.
    + intros j. rewrite Nat2Z.inj_succ. destruct (Z.eqb_spec (margin_answer j) (Z.of_nat n)) as [Q | Q].
      * rewrite Q, Nat2Z.id, Z.ltb_irrefl. rewrite (proj2 (Z.ltb_lt _ _)) by lia. destruct (S n); split; reflexivity.
      * destruct (Z.ltb_spec (margin_answer j) (Z.succ (Z.of_nat n))), (Z.ltb_spec (margin_answer j) (Z.of_nat n)); try lia;
          destruct (S (Z.to_nat (margin_answer j))); split; reflexivity.
Qed.

Lemma margin_likely_all a S : let n := Z.to_nat (2 * wider) in
  likely n (margin_law a) S = margin_chance (clipped cap (levels a)) (fun k => S (Z.to_nat (clip wider k + wider))).
Proof.
  intros n. unfold n. rewrite margin_likely. unfold margin_chance, margin. f_equal. apply heard_ext. intros j.
  rewrite (proj2 (Z.ltb_lt _ _)); [reflexivity|]. unfold margin_answer, clip. lia.
Qed.

Theorem margin_honest eps : 0 <= eps -> ratio P = exp eps ->
  honest_question {| charged := (eps, delta P); answers := Z.to_nat (2 * wider); law := margin_law |}.
Proof.
  intros He Er. unfold honest_question; cbn [charged answers law fst snd].
  refine (conj He (conj (Step.delta_least P) (conj _ _))).
  - intros a. split; [intros i _; apply margin_chance_probability|].
    rewrite <- (Rmult_1_l (total _ _)). replace (1 * total (Z.to_nat (2 * wider)) (margin_law a)) with
      (likely (Z.to_nat (2 * wider)) (margin_law a) (fun _ => true)).
    + rewrite margin_likely_all. unfold margin_chance, margin. rewrite heard_everything. unfold part. rewrite Z.sub_0_r. field.
      apply IZR_lt in one_positive. lra.
    + unfold likely. generalize (Z.to_nat (2 * wider)). intros n. rewrite Rmult_1_l. induction n; simpl; [|rewrite IHn]; ring.
  - intros a b N S. rewrite !margin_likely_all, <- Er. apply margin_private; [|exact N].
    exact (margin_seen (fun k => S (Z.to_nat (k + wider)))).
Qed.

End Datasets.
End Checked.

(** ** The margin is free *)

Section Free.
Variable P : privacy.
Notation phi := (step P).

(** phi adds less to a part of [0, 1] than to one as long further down. *)
Lemma step_adds_less a x z : 0 <= a -> a <= x -> x <= z -> z <= 1 -> phi a + (phi z - phi x) <= phi (a + (z - x)).
Proof.
  intros A L M U. destruct (Req_dec a z) as [E | E].
  { replace x with a by lra. subst z. replace (a + (a - a)) with a by ring. lra. }
  set (t := (x - a) / (z - a)). assert (T : t * (z - a) = x - a) by (unfold t; field; lra).
  assert (R : 0 <= t <= 1) by (split; nra).
  pose proof (step_concave P a z t R) as C. pose proof (step_concave P z a t R) as D.
  replace (t * a + (1 - t) * z) with (a + (z - x)) in C by lra. replace (t * z + (1 - t) * a) with x in D by lra. lra.
Qed.

(** Two rows as their sums from the first outcome on: one is phi of the other, but where that is still 0. *)
Definition beyond (u v : R) := v = phi u \/ u = 0 /\ v <= phi 0.

Lemma beyond_most u v : beyond u v -> v <= phi u.
Proof. intros [-> | [-> H]]; lra. Qed.

(** Then any event is so, at most. *)
Lemma event_within_phi n (u v : nat -> R) S : u 0%nat = 0 -> v 0%nat = 0 ->
  (forall i, (i < n)%nat -> u i <= u (i + 1)%nat /\ v i <= v (i + 1)%nat) ->
  (forall i, (i <= n)%nat -> beyond (u i) (v i)) -> u n <= 1 ->
  total n (fun i => (if S i : bool then 1 else 0) * (v (i + 1)%nat - v i)) <=
  phi (total n (fun i => (if S i then 1 else 0) * (u (i + 1)%nat - u i))).
Proof.
  intros U0 V0 Up B Un.
  enough (H : let x := total n (fun i => (if S i then 1 else 0) * (u (i + 1)%nat - u i)) in
              let z := total n (fun i => (if S i then 1 else 0) * (v (i + 1)%nat - v i)) in
              0 <= x <= u n /\ z <= v n /\ z <= phi x) by (cbv zeta in H; tauto).
  induction n as [| n IH]; cbn [total]; cbv zeta.
  - rewrite U0, V0. pose proof (step_extends P 0). lra.
  - destruct (Up n ltac:(lia)) as [Uu Uv]. destruct IH as (X & Z1 & Z2); [intros; apply Up; lia | intros; apply B; lia | |].
    { replace (Datatypes.S n) with (n + 1)%nat in Un by lia. lra. }
    set (x := total n _) in X, Z2 |- *. set (z := total n _) in Z1, Z2 |- *.
    replace (Datatypes.S n) with (n + 1)%nat in * by lia.
    pose proof (B n ltac:(lia)) as Bn. pose proof (B (n + 1)%nat ltac:(lia)) as Bm.
    destruct (S n); rewrite ?Rmult_1_l, ?Rmult_0_l, ?Rplus_0_r; [|lra]. split; [lra|]. split; [lra|].
    pose proof (beyond_most _ _ Bm) as M. destruct (Req_dec (u n) 0) as [E | E].
    + replace (x + (u (n + 1)%nat - u n)) with (u (n + 1)%nat) by lra. lra.
    + destruct Bn as [En | [En _]]; [|contradiction]. destruct Bm as [Em | [Em _]]; [|lra]. rewrite En, Em in *.
      pose proof (step_adds_less x (u n) (u (n + 1)%nat)). lra.
Qed.

(** phi goes back the way it came, unless it came to 1. *)
Lemma step_returns x : probability x -> phi x < 1 -> phi (1 - phi x) = 1 - x.
Proof.
  intros [X0 X1] L. apply Rle_antisym; [|apply step_dual; split; assumption]. apply Rnot_lt_le; intros C.
  pose proof (step_probability P x (conj X0 X1)) as [F0 F1]. set (w := phi (1 - phi x)) in *.
  pose proof (step_most P (1 - phi x)) as W. fold w in W.
  assert (K : phi x <= phi (1 - w)).
  { pose proof (step_symmetric P (1 - phi x) w) as Y. replace (1 - (1 - phi x)) with (phi x) in Y by ring.
    apply Y; lra || apply Rle_refl. }
  assert (O : phi 1 = 1) by (apply Rle_antisym; [apply step_most | apply step_extends; lra]).
  (* so phi is the same at 1 - w and further up at x, below 1: but concave, and 1 at 1 *)
  destruct (Req_dec x 1) as [-> | N]; [lra|]. set (t := (1 - x) / w).
  assert (T : t * w = 1 - x) by (unfold t; field; lra). assert (R : 0 <= t <= 1) by (split; nra). assert (R' : t < 1) by nra.
  pose proof (step_concave P (1 - w) 1 t R) as D. replace (t * (1 - w) + (1 - t) * 1) with x in D by lra. rewrite O in D.
  assert ((1 - t) * (1 - phi x) > 0) by (apply Rmult_lt_0_compat; lra). nra.
Qed.

(** The line optimum with any value at the boundary: balanced, selection, and whatever costs ask for. *)
Lemma line_optimum_beyond x l : probability x -> beyond (with_boundary P x l) (with_boundary P x (l + 1)%Z).
Proof.
  intros Hx. unfold with_boundary, line_mechanism. assert (Hn : probability (1 - x)) by (destruct Hx; split; lra).
  assert (back : forall z, probability z -> beyond (1 - phi z) (1 - z)).
  { intros z Hz. destruct (Req_dec (phi z) 1) as [E | E].
    - right. pose proof (step_dual P z Hz) as D. rewrite E in *. replace (1 - 1) with 0 in * by ring. auto.
    - left. symmetry. apply step_returns; [exact Hz|]. pose proof (step_most P z). lra. }
  destruct (Z.leb_spec 0 l), (Z.leb_spec 0 (l + 1)); try lia.
  - left. replace (Z.to_nat (l + 1)) with (Datatypes.S (Z.to_nat l)) by lia. reflexivity.
  - replace l with (-1)%Z by lia. simpl. pose proof (back (1 - x) Hn) as K. replace (1 - (1 - x)) with x in K by ring. exact K.
  - replace (Z.to_nat (-1 - l)) with (Datatypes.S (Z.to_nat (-1 - (l + 1)))) by lia. cbn [steps].
    apply back, steps_probability, step_probability, Hn.
Qed.

(** Noise with the tails p: so likely are margins of [top] or more (outcome 0), of top - i (outcome i), and of top - n or less
    (outcome n). The window is as wide as one likes. *)
Definition tail_from (p : Z -> R) (l top : Z) (n i : nat) : R :=
  match i with O => 0 | Datatypes.S i => if Nat.ltb i n then p (l - top + Z.of_nat i)%Z else 1 end.
Definition window (p : Z -> R) (l top : Z) (n i : nat) : R := tail_from p l top n (i + 1) - tail_from p l top n i.

Section Optimum.
Variable x : R.
Hypothesis Hx : probability x.
Let p : Z -> R := with_boundary P x.

Let p_probability l : probability (p l).
Proof. apply (with_boundary_private P x Hx). Qed.

Lemma line_optimum_rises l : p l <= p (l + 1)%Z.
Proof.
  pose proof (line_optimum_beyond x l Hx) as B. change (beyond (p l) (p (l + 1)%Z)) in B.
  destruct (p_probability l), (p_probability (l + 1)), B as [-> | [-> _]]; [apply step_extends|]; assumption.
Qed.

Lemma tails l top n : tail_from p l top n 0 = 0 /\ tail_from p l top n (n + 1) = 1 /\
  forall i, (i < n + 1)%nat -> tail_from p l top n i <= tail_from p l top n (i + 1).
Proof.
  split; [reflexivity|]. rewrite Nat.add_1_r. cbn [tail_from]. rewrite Nat.ltb_irrefl. split; [reflexivity|].
  intros [| i] Hi; rewrite Nat.add_1_r; cbn [tail_from].
  - destruct (Nat.ltb 0 n); [apply p_probability | lra].
  - rewrite (proj2 (Nat.ltb_lt i n)) by lia. destruct (Nat.ltb (Datatypes.S i) n); [|apply p_probability].
    replace (l - top + Z.of_nat (Datatypes.S i))%Z with (l - top + Z.of_nat i + 1)%Z by lia. apply line_optimum_rises.
Qed.

Lemma window_distribution l top n : distribution (n + 1) (window p l top n).
Proof.
  destruct (tails l top n) as (A & B & C). split; [intros i Hi; specialize (C i Hi); unfold window; lra|].
  enough (E : forall m, total m (window p l top n) = tail_from p l top n m) by (rewrite E; exact B).
  induction m as [| m IH]; cbn [total]; [rewrite A; reflexivity|]. rewrite IH. unfold window. rewrite Nat.add_1_r. ring.
Qed.

Lemma likely_probability n q S : distribution n q -> probability (likely n q S).
Proof. intros D. apply (mean_probability n q (fun i => if S i then 1 else 0) D). intros i _. destruct (S i); split; lra. Qed.

Lemma likely_complement n q S : distribution n q -> likely n q (fun i => negb (S i)) = 1 - likely n q S.
Proof.
  intros [_ <-]. unfold likely. clear. induction n as [| n IH]; cbn [total]; [ring|]. rewrite IH. destruct (S n); simpl; ring.
Qed.

(** Over any event, levels that differ by one differ by a step, at most. *)
Theorem optimal_margin_step l top n S :
  likely (n + 1) (window p (l + 1) top n) S <= phi (likely (n + 1) (window p l top n) S) /\
  likely (n + 1) (window p l top n) S <= phi (likely (n + 1) (window p (l + 1) top n) S).
Proof.
  assert (H : forall T, likely (n + 1) (window p (l + 1) top n) T <= phi (likely (n + 1) (window p l top n) T)).
  { intros T. destruct (tails l top n) as (A & B & C), (tails (l + 1) top n) as (A' & B' & C').
    apply event_within_phi; auto; [|rewrite B; lra]. intros [| i] Hi; cbn [tail_from].
    { right. pose proof (step_extends P 0). lra. }
    destruct (Nat.ltb i n).
    - replace (l + 1 - top + Z.of_nat i)%Z with (l - top + Z.of_nat i + 1)%Z by lia. apply line_optimum_beyond, Hx.
    - left. apply Rle_antisym; [apply step_extends; lra | apply step_most]. }
  split; [apply H|]. specialize (H (fun i => negb (S i))).
  rewrite !likely_complement in H by apply window_distribution.
  pose proof (likely_probability _ _ S (window_distribution l top n)) as [? ?].
  pose proof (likely_probability _ _ S (window_distribution (l + 1) top n)) as [? ?].
  rewrite (step_symmetric P (likely (n + 1) (window p (l + 1) top n) S)) by lra. exact H.
Qed.

(** So the margin is as private as its sign. *)
Theorem optimal_margin_private l l' top n S : (Z.abs (l - l') <= 1)%Z ->
  likely (n + 1) (window p l top n) S <= ratio P * likely (n + 1) (window p l' top n) S + delta P.
Proof.
  intros N. assert (T : l = l' \/ l = (l' + 1)%Z \/ l' = (l + 1)%Z) by lia.
  pose proof (likely_probability _ _ S (window_distribution l' top n)) as [? ?]. of_privacy P.
  destruct T as [-> | [-> | ->]]; [nra | destruct (optimal_margin_step l' top n S) as [K _] |
    destruct (optimal_margin_step l top n S) as [_ K]]; apply le_step in K; tauto.
Qed.

(** And the sign is the optimum: the outcomes top ... 0, where the window has them. *)
Theorem optimal_margin_sign l n m : (m < n)%nat ->
  likely (n + 1) (window p l (Z.of_nat m) n) (fun i => Nat.leb i m) = p l.
Proof.
  intros M. assert (E : forall k, likely k (window p l (Z.of_nat m) n) (fun i => Nat.leb i m) =
    tail_from p l (Z.of_nat m) n (Nat.min k (m + 1))).
  { intros k. unfold likely. induction k as [| k IH]; cbn [total]; [reflexivity|]. rewrite IH. unfold window.
    destruct (Nat.leb_spec k m).
    - rewrite !Nat.min_l by lia. rewrite Nat.add_1_r. ring.
    - rewrite !Nat.min_r by lia. ring. }
  rewrite E, Nat.min_r, Nat.add_1_r by lia. cbn [tail_from]. rewrite (proj2 (Nat.ltb_lt m n)) by exact M. f_equal. lia.
Qed.

End Optimum.
End Free.
