(** Which of k under one Rényi order, where the others are alike: within an answer the sum over all answers is that of yes and
    no, and two answers at distance 0 need one inequality (docs/theory.md, "Which of k"; `RenyiDP.each_other_on_integers`). *)

From Coq Require Import Reals Lra Lia Psatz List Bool.
From Duotone Require Import Step Graph Sum Renyi RenyiStep Which.
Open Scope R_scope.

Lemma total_all n c : total n (fun _ => c) = INR n * c.
Proof. induction n as [| n IH]; [cbn; ring|]. cbn [total]. rewrite IH, S_INR. ring. Qed.

Lemma total_one n a c : (a < n)%nat -> total n (fun i => if Nat.eqb i a then c else 0) = c.
Proof.
  revert a; induction n as [| n IH]; intros a L; [lia|]. cbn [total]. destruct (Nat.eqb_spec n a) as [-> | N].
  - rewrite (Which.total_ext a _ (fun _ => 0)); [|intros i Hi; destruct (Nat.eqb_spec i a); [lia | reflexivity]].
    rewrite total_all. ring.
  - rewrite IH by lia. ring.
Qed.

Section Order.
Variables (k : nat) (T d : R).

(** What the others share, of two outcomes. *)
Definition shared m (f : nat -> R) (i : nat) : R := match i with O => f 0%nat | _ => f 1%nat / INR (m - 1) end.

Lemma shared_total m f : (2 <= m)%nat -> total m (shared m f) = total 2 f.
Proof.
  intros M. replace m with (S (m - 1)) at 1 by lia. rewrite total_first. cbn [shared]. rewrite total_all. cbn [total].
  field. apply not_0_INR. lia.
Qed.

Lemma shared_priced m t t' : (2 <= m)%nat -> priced k T d 2 (of_two t) (of_two t') ->
  priced k T d m (Which.alike m t) (Which.alike m t').
Proof.
  intros M (part & r & H & L & S). assert (N : 0 < INR (m - 1)) by (apply lt_0_INR; lia).
  assert (E : forall u i, Which.alike m u i = shared m (of_two u) i) by (intros u [| i]; reflexivity).
  exists (shared m part), (shared m r). split; [|split].
  - intros i Hi. rewrite !E. destruct i as [| i]; cbn [shared]; [apply (H 0%nat); lia|].
    destruct (H 1%nat ltac:(lia)) as ([A B] & C & D). unfold Rdiv. rewrite !Rpow_mult_distr. cbn [pow].
    assert (I : 0 < / INR (m - 1)) by (apply Rinv_0_lt_compat, N). pose proof (pow_lt _ k I) as J.
    set (w := / INR (m - 1)) in *. set (v := w ^ k) in *. split; [split; nra|]. split; [nra|].
    cbn [pow] in D. set (x := part 1%nat ^ k) in *. set (z := of_two t' 1%nat ^ k) in *.
    replace (part 1%nat * x * (w * v)) with (w * v * (part 1%nat * x)) by ring.
    replace (r 1%nat * w * (z * v)) with (w * v * (r 1%nat * z)) by ring.
    apply Rmult_le_compat_l; [apply Rmult_le_pos; lra | exact D].
  - rewrite (Which.total_ext m _ (shared m (fun i => of_two t i - part i))); [rewrite shared_total; assumption|].
    intros i _. rewrite E. destruct i; cbn [shared]; [reflexivity|]. unfold Rdiv. ring.
  - rewrite shared_total; assumption.
Qed.

(** The truth moves by phi of this order, the others stay alike: the price of all answers is that of yes and no. *)
Theorem shared_renyi m t t' : (2 <= m)%nat -> renyi k T d 2 (of_two t) (of_two t') ->
  renyi k T d m (Which.alike m t) (Which.alike m t').
Proof. intros M [A B]. split; apply shared_priced; assumption. Qed.

(** Of each answer how likely it is, where a is the true one. *)
Definition chosen (t q : R) (a c : nat) : R := if Nat.eqb c a then t else q.

Theorem chosen_renyi m t q a b : (a < m)%nat -> (b < m)%nat -> 0 < q -> 0 < t -> 0 <= d ->
  Rmax 0 (t - d) ^ S k / q ^ k + q ^ S k / t ^ k + (INR m - 2) * q <= T -> a <> b ->
  renyi k T d m (chosen t q a) (chosen t q b).
Proof.
  intros La Lb Q P D H N.
  assert (G : forall x y, (x < m)%nat -> (y < m)%nat -> x <> y -> priced k T d m (chosen t q x) (chosen t q y)).
  { clear a b La Lb N. intros a b La Lb N. set (s := Rmax 0 (t - d)) in *.
    assert (S0 : 0 <= s <= t) by (unfold s; split; [apply Rmax_l | apply Rmax_lub; lra]).
    assert (S1 : t - s <= d) by (unfold s; pose proof (Rmax_r 0 (t - d)); lra).
    pose proof (pow_lt q k Q) as Qk. pose proof (pow_lt t k P) as Tk. pose proof (pow_le s (S k) (proj1 S0)) as Sk.
    set (A := s ^ S k / q ^ k) in *. set (B := q ^ S k / t ^ k) in *.
    assert (A0 : 0 <= A) by (unfold A; apply Rmult_le_pos; [exact Sk | left; apply Rinv_0_lt_compat, Qk]).
    assert (B0 : 0 <= B) by (unfold B; apply Rmult_le_pos; [apply pow_le; lra | left; apply Rinv_0_lt_compat, Tk]).
    exists (chosen s q a), (fun c => if Nat.eqb c a then A else if Nat.eqb c b then B else q). unfold chosen. split; [|split].
    - intros c _. destruct (Nat.eqb_spec c a) as [-> | Na]; [destruct (Nat.eqb_spec a b); [contradiction|]|].
      + split; [lra|]. split; [exact A0|]. right. unfold A. field. lra.
      + destruct (Nat.eqb_spec c b); split; try lra; split; try lra; [right; unfold B; field; lra | right; cbn [pow]; ring].
    - rewrite (Which.total_ext m _ (fun c => if Nat.eqb c a then t - s else 0)); [rewrite total_one by exact La; exact S1|].
      intros c _. destruct (Nat.eqb c a); ring.
    - rewrite (Which.total_ext m _ (fun c => 1 * (1 * q + 1 * (if Nat.eqb c a then A - q else 0)) +
                                             1 * (if Nat.eqb c b then B - q else 0))).
      + rewrite !total_plus, total_all, !total_one by assumption. lra.
      + intros c _. destruct (Nat.eqb_spec c a), (Nat.eqb_spec c b); try ring. exfalso. apply N. congruence. }
  split; apply G; auto.
Qed.

End Order.
