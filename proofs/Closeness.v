(** What the paper needs of a definition of privacy: how far a yes-probability may move between two neighbouring datasets.

    [step] is called phi in docs/theory.md: a neighbour of a dataset that says yes with probability x says it with [step x] at
    most. Theorems 1 to 3 rest on nothing but what is listed here; Step.v has it of (eps, delta), and RenyiStep.v of a Rényi
    order. *)

From Coq Require Import Reals Lra Lia.
Open Scope R_scope.

Definition probability x := 0 <= x <= 1.

Record closeness := {
  (** The definition for one ordered pair of neighbours, with yes-probabilities x and y ... *)
  hidden : R -> R -> Prop;
  step : R -> R;
  (** ... and both ways round it is the step both ways round. *)
  private_iff_step x y :
    probability x -> probability y -> (hidden x y /\ hidden y x <-> x <= step y /\ y <= step x);
  step_most x : step x <= 1;
  (** phi x >= x *)
  step_extends x : x <= 1 -> 0 <= x -> x <= step x;
  (** phi is increasing *)
  step_increases x x' : x <= x' -> step x <= step x';
  (** ... and continuous from the right *)
  step_closed x y : probability x -> x < 1 -> (forall x', x < x' -> x' <= 1 -> y <= step x') -> y <= step x;
  (** yes and no are alike: [y <= phi x] says the same of the probabilities of no, the other way round *)
  step_symmetric x y : x <= 1 -> 0 <= y -> y <= 1 -> 0 <= x -> (y <= step x <-> 1 - x <= step (1 - y))
}.

Arguments hidden _ _ _ : simpl never.
Arguments step _ _ : simpl never.

Section Steps.
Variable P : closeness.

Lemma step_probability x : probability x -> probability (step P x).
Proof. intros [? ?]; split; [apply Rle_trans with x, step_extends | apply step_most]; assumption. Qed.

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

End Steps.
