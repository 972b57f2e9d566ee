(** The paper's Fig. 2 (`families.figure_2`) with the numbers that the text gives for it.

    A private mechanism with the fixed values is nowhere above the optimum. And no dataset's optimum is above one step of a
    neighbour's: so values that are private, and each tight at a neighbour, back to a fixed one, are the optimum. *)

From Coq Require Import Reals Lra Lia List.
From Duotone Require Import Step Graph Optimum Homogeneous ClosedForm Examples Errata.
Import ListNotations.
Open Scope R_scope.

Inductive letter := a | b | c | d | e | f | g | h | i | j | k | l | m | n | o | p | q | r.

Definition edges :=
  [(a, b); (b, g); (g, a); (g, c); (c, h); (h, n); (n, q); (q, l); (l, g); (l, k); (q, m);
   (n, o); (o, j); (j, f); (f, e); (e, j); (j, d); (d, i); (i, h); (o, p); (o, r)].

Definition figure_2 : graph.
Proof.
  refine {| dataset := letter; near := fun x y => In (x, y) edges \/ In (y, x) edges;
            blue := fun x => match x with a | b | c | g | h | k | l => true | _ => false end |}.
  intros x y; tauto.
Defined.

Lemma figure_2_boundary (x : figure_2) : blue_boundary x <-> x = h \/ x = l.
Proof.
  split.
  - intros (C & y & E & D). destruct x; try discriminate C; auto; exfalso;
      destruct E as [E | E]; simpl in E; repeat destruct E as [E | E]; try discriminate E; try contradiction;
      injection E; intros; subst; discriminate D.
  - intros [-> | ->]; split; try reflexivity; [exists n | exists q]; split; simpl; tauto.
Qed.

Section Values.
Variables (P : privacy) (value : figure_2 -> R).
Hypothesis valid : forall x, blue_boundary x -> probability (value x).
Variable M : mechanism figure_2.
Hypothesis kept : forall x, blue_boundary x -> M x = value x.
Hypothesis hides : forall x y, In (x, y) edges -> M x <= step P (M y) /\ M y <= step P (M x).
Hypothesis likely : probabilities M.

(** The neighbour at which each dataset is tight. *)
Definition from (x : figure_2) : figure_2 :=
  match x with
  | a | b => g | c => h | g | k => l | i | n => h | q => l | d => i | o => n | m => q | j => d | p | r => o | e | f => j
  | h => h | l => l
  end.

(** Where the truth is certain no neighbour is needed. *)
Definition tight x := truth M x = 1 \/ truth M x = step P (if blue x then M (from x) else 1 - M (from x)).
Hypothesis all_tight : forall x, blue_boundary x \/ tight x.

Lemma figure_2_private : private P M.
Proof. apply private_steps; split; [exact likely|]. intros x y [E | E]; apply hides in E; tauto. Qed.

Notation best := (optimum P figure_2 blue_boundary value valid).

Lemma figure_2_fits : fit P figure_2 blue_boundary value.
Proof. apply (keeps_fit P figure_2 blue_boundary value M figure_2_private kept). Qed.

(** One step further from a dataset where the two agree. *)
Lemma agree x : near (from x) x -> tight x -> best (from x) = M (from x) -> truth best x <= truth M x.
Proof.
  intros E [T | T] A; pose proof (optimum_private P figure_2 blue_boundary value valid (fun _ H => H) figure_2_fits) as HB.
  - rewrite T; destruct HB as [Hp _]; specialize (Hp x). unfold truth; destruct (blue x), Hp; lra.
  - rewrite T; unfold truth at 1. rewrite <- A. destruct (blue x).
    + apply private_steps in HB; apply HB, E.
    + apply private_dual, private_steps in HB; apply HB, E.
Qed.

Theorem figure_2_optimum x : M x = best x.
Proof.
  assert (B : forall y, blue_boundary y -> best y = M y).
  { intros y Hy; rewrite kept by exact Hy. apply optimum_keeps; [exact figure_2_fits | exact Hy]. }
  assert (D : forall y, truth M y <= truth best y).
  { apply optimum_dominates; [exact figure_2_private | exact kept]. }
  assert (K : forall y, ~ blue_boundary y -> near (from y) y -> best (from y) = M (from y) -> best y = M y).
  { intros y N E A; destruct (all_tight y) as [H | T]; [contradiction|]. specialize (D y).
    pose proof (agree y E T A) as U. unfold truth in D, U; destruct (blue y); lra. }
  assert (Bh : best h = M h) by (apply B, figure_2_boundary; auto).
  assert (Bl : best l = M l) by (apply B, figure_2_boundary; auto).
  symmetry; destruct x; auto;
    repeat (apply K; [rewrite figure_2_boundary; intros [? | ?]; discriminate | simpl; tauto | simpl; try assumption]).
Qed.

End Values.

(** A mechanism from the probabilities of the truth. *)
Definition by_truth (t : letter -> R) : mechanism figure_2 := fun x => if blue x then t x else 1 - t x.

(** Every edge, and every step, by its numbers. *)
Ltac each_edge := intros ? ? E; simpl in E; repeat destruct E as [E | E]; try contradiction; injection E; intros; subst;
  split; apply le_step; unfold by_truth; simpl; lra.
Ltac each_step := intros [] ; try (left; apply figure_2_boundary; tauto); right; unfold tight, truth, by_truth; simpl;
  first [left; lra | right; rewrite step_early by (unfold early; simpl; lra); simpl; lra | right; late_step; lra].

(** After Theorem 2: the optimal (log 2, 0.1)-DP mechanism with B_h = 0.6 and B_l = 0.7. *)
Definition unequal := by_truth (fun x => match x with
  | h => 6 / 10 | l => 7 / 10 | g | k => 9 / 10 | c => 85 / 100 | a | b => 1
  | q => 7 / 10 | i | n => 75 / 100 | m => 9 / 10 | d | o => 925 / 1000 | e | f | j | p | r => 1 end).

Lemma unequal_likely : probabilities unequal.
Proof. intros []; unfold unequal, by_truth, probability; simpl; lra. Qed.

Theorem unequal_optimal x : unequal x = optimum log_2 figure_2 blue_boundary unequal (fun y _ => unequal_likely y) x.
Proof.
  apply figure_2_optimum; [reflexivity | unfold unequal; each_edge | exact unequal_likely | unfold unequal; each_step].
Qed.

(** ... and none at (log 1.1, 0). *)
Theorem no_unequal (M : mechanism figure_2) : private log_1_1 M -> ~ (M h = 6 / 10 /\ M l = 7 / 10).
Proof.
  apply infeasible. apply (further 2 _ (q : figure_2)); [apply (further 1 _ (n : figure_2)); [apply walk_edge|]|]; simpl; tauto.
Qed.

(** After Theorem 5: R_h = R_l = 1/13 at (log 1.3, 0.1), with 242/325 for the text's 0.7447. *)
Definition equal := by_truth (fun x => match x with
  | h | l => 12 / 13 | a | b | c | g | k => 1
  | i | n | q => 2 / 10 | d | o | m => 36 / 100 | j | p | r => 568 / 1000 | e | f => 242 / 325 end).

Lemma equal_likely : probabilities equal.
Proof. intros []; unfold equal, by_truth, probability; simpl; lra. Qed.

Lemma twelve_thirteenths : probability (12 / 13).
Proof. split; lra. Qed.

Theorem equal_optimal x : equal x = homogeneous_optimum log_1_3 figure_2 (12 / 13) twelve_thirteenths x.
Proof.
  apply figure_2_optimum; [|unfold equal; each_edge | exact equal_likely | unfold equal; each_step].
  intros y Hy; apply figure_2_boundary in Hy; destruct Hy as [-> | ->]; reflexivity.
Qed.
