(** One step: how far a yes-probability may move between two neighbouring datasets.

    Definition 1 of the paper speaks of every event; for a yes/no answer it is one inequality each way, with

      step x = min (1, e^eps * x + delta, 1 - (1 - x - delta) / e^eps),

    which is called phi in docs/theory.md and `ApproxDP.step` in the code. *)

From Coq Require Import Reals Lra Psatz.
From Duotone Require Import Exp.
Open Scope R_scope.

(** e^eps and delta. *)
Record privacy := {
  ratio : R;
  delta : R;
  ratio_least : 1 <= ratio;
  delta_least : 0 <= delta;
  delta_most : delta < 1
}.

Definition approx_dp eps d (eps_least : 0 <= eps) (d_least : 0 <= d) (d_most : d < 1) : privacy :=
  {| ratio := exp eps; delta := d; ratio_least := exp_at_least_one eps eps_least; delta_least := d_least;
     delta_most := d_most |}.

Definition probability x := 0 <= x <= 1.

(** An event is a set of answers; [chance x S] is how likely it is where yes has probability [x]. *)
Definition event := bool -> bool.
Definition chance x (S : event) := (if S true then x else 0) + (if S false then 1 - x else 0).

(** Definition 1 for one ordered pair of neighbours, with yes-probabilities [x] and [y]. *)
Definition hidden (P : privacy) x y := forall S, chance x S <= ratio P * chance y S + delta P.

Definition step (P : privacy) x := Rmin 1 (Rmin (ratio P * x + delta P) (1 - (1 - x - delta P) / ratio P)).

Ltac of_privacy P :=
  let a := fresh "Pr" in let b := fresh "Pd" in let c := fresh "Pd" in
  pose proof (ratio_least P) as a; pose proof (delta_least P) as b; pose proof (delta_most P) as c.

Section Step.
Variable P : privacy.

(** The step without its minimum, and without a quotient. *)
Lemma le_step x y :
  y <= step P x <-> y <= 1 /\ y <= ratio P * x + delta P /\ 1 - x <= ratio P * (1 - y) + delta P.
Proof.
  of_privacy P; unfold step.
  assert (E : y <= 1 - (1 - x - delta P) / ratio P <-> 1 - x <= ratio P * (1 - y) + delta P).
  { assert (1 - x - delta P = (1 - x - delta P) / ratio P * ratio P) by (field; lra).
    split; intros; [nra | ]. apply Rmult_le_reg_r with (ratio P); nra. }
  rewrite <- E; clear E. unfold Rmin; repeat destruct Rle_dec; lra.
Qed.

(** Definition 1 on an edge, all events and both ways round, is the step both ways round. *)
Theorem private_iff_step x y :
  probability x -> probability y -> (hidden P x y /\ hidden P y x <-> x <= step P y /\ y <= step P x).
Proof.
  unfold probability, hidden, chance; of_privacy P; intros Hx Hy; rewrite !le_step; split.
  - intros [F G].
    generalize (F (fun v => v)) (F negb) (G (fun v => v)) (G negb); simpl; lra.
  - intros [F G]; split; intros S; destruct (S true), (S false); nra.
Qed.

Lemma step_most x : step P x <= 1.
Proof. apply (le_step x (step P x)); lra. Qed.

(** phi x >= x *)
Lemma step_extends x : x <= 1 -> 0 <= x -> x <= step P x.
Proof. of_privacy P; intros; apply le_step; repeat split; nra. Qed.

Lemma step_probability x : probability x -> probability (step P x).
Proof. intros [? ?]; split; [apply Rle_trans with x, step_extends | apply step_most]; assumption. Qed.

(** phi is increasing *)
Lemma step_increases x x' : x <= x' -> step P x <= step P x'.
Proof.
  of_privacy P; intros. destruct (proj1 (le_step x (step P x)) (Rle_refl _)) as (? & ? & ?).
  apply le_step; repeat split; nra.
Qed.

(** phi is concave *)
Lemma step_concave x x' t :
  0 <= t <= 1 -> t * step P x + (1 - t) * step P x' <= step P (t * x + (1 - t) * x').
Proof.
  of_privacy P; intros.
  destruct (proj1 (le_step x (step P x)) (Rle_refl _)) as (? & ? & ?).
  destruct (proj1 (le_step x' (step P x')) (Rle_refl _)) as (? & ? & ?).
  apply le_step; repeat split; nra.
Qed.

(** phi rises by at most e^eps per unit, so it is continuous *)
Lemma step_lipschitz x h : 0 <= h -> step P (x + h) <= step P x + ratio P * h.
Proof.
  of_privacy P; intros. destruct (proj1 (le_step (x + h) (step P (x + h))) (Rle_refl _)) as (? & ? & ?).
  assert (h <= ratio P * h) by nra. assert (h <= ratio P * (ratio P * h)) by nra.
  enough (step P (x + h) - ratio P * h <= step P x) by lra.
  apply le_step; repeat split; lra.
Qed.

(** yes and no are alike: [y <= phi x] says the same of the probabilities of no, the other way round *)
Lemma step_symmetric x y : x <= 1 -> 0 <= y -> y <= 1 -> 0 <= x -> (y <= step P x <-> 1 - x <= step P (1 - y)).
Proof. intros; rewrite !le_step; split; intros (? & ? & ?); repeat split; lra. Qed.

(** phi (1 - phi x) >= 1 - x *)
Lemma step_dual x : probability x -> 1 - x <= step P (1 - step P x).
Proof.
  intros Hx; destruct (step_probability x Hx), Hx; rewrite <- step_symmetric; lra.
Qed.

(** [steps n x] is phi iterated n times: what is possible n edges away from x. *)
Fixpoint steps n x := match n with O => x | S n => step P (steps n x) end.

Lemma steps_probability n x : probability x -> probability (steps n x).
Proof. induction n; simpl; auto using step_probability. Qed.

Lemma steps_increase n x x' : x <= x' -> steps n x <= steps n x'.
Proof. induction n; simpl; auto using step_increases. Qed.

Lemma steps_add m n x : steps (m + n) x = steps m (steps n x).
Proof. induction m; simpl; congruence. Qed.

Lemma steps_extend m n x : probability x -> (m <= n)%nat -> steps m x <= steps n x.
Proof.
  intros Hx; induction 1; [lra|]. apply Rle_trans with (steps m0 x); [assumption|].
  destruct (steps_probability m0 x Hx); simpl; apply step_extends; assumption.
Qed.

Lemma steps_symmetric n x y :
  probability x -> probability y -> (y <= steps n x <-> 1 - x <= steps n (1 - y)).
Proof.
  revert x y; induction n; intros x y Hx Hy; simpl; [lra|].
  destruct (steps_probability n x Hx), (steps_probability n (1 - y)) as [? ?]; [unfold probability in *; lra|].
  destruct Hx, Hy. rewrite step_symmetric by lra.
  assert (Q : probability (1 - y)) by (split; lra).
  destruct (step_probability (1 - y) Q).
  assert (step P (steps n (1 - y)) = steps n (step P (1 - y))) as ->.
  { clear; induction n; simpl; congruence. }
  specialize (IHn x (1 - step P (1 - y))).
  replace (1 - (1 - step P (1 - y))) with (step P (1 - y)) in IHn by ring.
  rewrite <- IHn; [lra | split; lra | split; lra].
Qed.

End Step.
