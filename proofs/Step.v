(** One step of an (eps, delta)-private mechanism.

    Definition 1 of the paper speaks of every event; for a yes/no answer it is one inequality each way, with

      phi x = min (1, e^eps * x + delta, 1 - (1 - x - delta) / e^eps),

    which is `ApproxDP.step` in the code. *)

From Coq Require Import Reals Lra Psatz.
From Duotone Require Import Exp.
From Duotone Require Export Closeness.
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

(** An event is a set of answers; [chance x S] is how likely it is where yes has probability [x]. *)
Definition event := bool -> bool.
Definition chance x (S : event) := (if S true then x else 0) + (if S false then 1 - x else 0).

(** Definition 1 for one ordered pair of neighbours, with yes-probabilities [x] and [y]. *)
Definition every_event (P : privacy) x y := forall S, chance x S <= ratio P * chance y S + delta P.

Definition phi (P : privacy) x := Rmin 1 (Rmin (ratio P * x + delta P) (1 - (1 - x - delta P) / ratio P)).

Ltac of_privacy P :=
  let a := fresh "Pr" in let b := fresh "Pd" in let c := fresh "Pd" in
  pose proof (ratio_least P) as a; pose proof (delta_least P) as b; pose proof (delta_most P) as c.

Section Step.
Variable P : privacy.

(** The step without its minimum, and without a quotient. *)
Lemma le_phi x y : y <= phi P x <-> y <= 1 /\ y <= ratio P * x + delta P /\ 1 - x <= ratio P * (1 - y) + delta P.
Proof.
  of_privacy P; unfold phi.
  assert (E : y <= 1 - (1 - x - delta P) / ratio P <-> 1 - x <= ratio P * (1 - y) + delta P).
  { assert (1 - x - delta P = (1 - x - delta P) / ratio P * ratio P) by (field; lra).
    split; intros; [nra | ]. apply Rmult_le_reg_r with (ratio P); nra. }
  rewrite <- E; clear E. unfold Rmin; repeat destruct Rle_dec; lra.
Qed.

(** Definition 1 on an edge, all events and both ways round, is the step both ways round. *)
Lemma private_iff_phi x y :
  probability x -> probability y -> (every_event P x y /\ every_event P y x <-> x <= phi P y /\ y <= phi P x).
Proof.
  unfold probability, every_event, chance; of_privacy P; intros Hx Hy; rewrite !le_phi; split.
  - intros [F G].
    generalize (F (fun v => v)) (F negb) (G (fun v => v)) (G negb); simpl; lra.
  - intros [F G]; split; intros S; destruct (S true), (S false); nra.
Qed.

Lemma phi_most x : phi P x <= 1.
Proof. apply (le_phi x (phi P x)); lra. Qed.

Lemma phi_extends x : x <= 1 -> 0 <= x -> x <= phi P x.
Proof. of_privacy P; intros; apply le_phi; repeat split; nra. Qed.

Lemma phi_increases x x' : x <= x' -> phi P x <= phi P x'.
Proof.
  of_privacy P; intros. destruct (proj1 (le_phi x (phi P x)) (Rle_refl _)) as (? & ? & ?).
  apply le_phi; repeat split; nra.
Qed.

(** phi rises by at most e^eps per unit, so it is continuous *)
Lemma phi_lipschitz x h : 0 <= h -> phi P (x + h) <= phi P x + ratio P * h.
Proof.
  of_privacy P; intros. destruct (proj1 (le_phi (x + h) (phi P (x + h))) (Rle_refl _)) as (? & ? & ?).
  assert (h <= ratio P * h) by nra. assert (h <= ratio P * (ratio P * h)) by nra.
  enough (phi P (x + h) - ratio P * h <= phi P x) by lra.
  apply le_phi; repeat split; lra.
Qed.

Lemma phi_closed x y : probability x -> x < 1 -> (forall x', x < x' -> x' <= 1 -> y <= phi P x') -> y <= phi P x.
Proof.
  intros _ L H. of_privacy P. apply Rnot_lt_le; intros C.
  assert (E : (y - phi P x) / (2 * ratio P) * ratio P = (y - phi P x) / 2) by (field; lra).
  set (h := Rmin ((y - phi P x) / (2 * ratio P)) (1 - x)).
  assert (0 < h) by (apply Rmin_glb_lt; [apply Rdiv_lt_0_compat|]; lra).
  assert (h <= (y - phi P x) / (2 * ratio P)) by apply Rmin_l. assert (h <= 1 - x) by apply Rmin_r.
  pose proof (H (x + h) ltac:(lra) ltac:(lra)). pose proof (phi_lipschitz x h ltac:(lra)). nra.
Qed.

Lemma phi_symmetric x y : x <= 1 -> 0 <= y -> y <= 1 -> 0 <= x -> (y <= phi P x <-> 1 - x <= phi P (1 - y)).
Proof. intros; rewrite !le_phi; split; intros (? & ? & ?); repeat split; lra. Qed.

(** So the paper's theorems hold for it. *)
Definition approx : closeness :=
  {| hidden := every_event P; step := phi P; private_iff_step := private_iff_phi; step_most := phi_most;
     step_extends := phi_extends; step_increases := phi_increases; step_closed := phi_closed;
     step_symmetric := phi_symmetric |}.

End Step.

Coercion approx : privacy >-> closeness.

Lemma le_step (P : privacy) x y :
  y <= step P x <-> y <= 1 /\ y <= ratio P * x + delta P /\ 1 - x <= ratio P * (1 - y) + delta P.
Proof. apply le_phi. Qed.

(** phi is concave *)
Lemma step_concave (P : privacy) x x' t :
  0 <= t <= 1 -> t * step P x + (1 - t) * step P x' <= step P (t * x + (1 - t) * x').
Proof.
  of_privacy P; intros.
  destruct (proj1 (le_step P x (step P x)) (Rle_refl _)) as (? & ? & ?).
  destruct (proj1 (le_step P x' (step P x')) (Rle_refl _)) as (? & ? & ?).
  apply le_step; repeat split; nra.
Qed.
