(** Where the paper's text must not be read literally: each row of the errata that is a statement, as a theorem.

    Numbers are exact, and the graphs small lines, so that each counterexample can be checked by hand. Other rows are elsewhere:
    tau below -1 in TauBelow.v, clamps and eps = 0 in ClosedForm.v, distance 0 in Balanced.v, graphs of several
    components in Optimum.v, the red boundary's value in Homogeneous.v, Examples 3 and 4 in Examples.v. *)

From Coq Require Import Reals Lra Lia Psatz Arith.
From Duotone Require Import Step Graph Line ClosedForm Balanced Examples.
Open Scope R_scope.

(** ** The introduction's formula for P_e

    "The shortest path to the nearest dataset of opposite color" is one more than the distance to the boundary of one's own
    colour, for which the formula is right (Corollary 2). Read literally it breaks privacy on the smallest line of all. *)
Definition introduction : mechanism (line 1 1) :=
  fun i => if blue i then 1 - balanced_error log_2 1 else balanced_error log_2 1.

Lemma introduction_distance :
  away (fun i : line 1 1 => blue i = false) 1 (1%nat : line 1 1) /\
  away (fun i : line 1 1 => blue i = true) 1 (2%nat : line 1 1).
Proof.
  split; split.
  - exists (2%nat : line 1 1); split; [reflexivity | apply walk_edge; simpl; lia].
  - intros [| m] b C W; [apply walk_none in W; subst; discriminate | lia].
  - exists (1%nat : line 1 1); split; [reflexivity | apply walk_edge; simpl; lia].
  - intros [| m] b C W; [apply walk_none in W; subst; discriminate | lia].
Qed.

Theorem introduction_is_not_private :
  introduction 1%nat = 9 / 10 /\ introduction 2%nat = 1 / 10 /\ 9 / 10 > 2 * (1 / 10) + 1 / 10 /\ ~ private log_2 introduction.
Proof.
  assert (E : balanced_error log_2 1 = 1 / 10) by (unfold balanced_error; simpl; destruct Req_EM_T; lra).
  assert (A : introduction 1%nat = 9 / 10) by (unfold introduction; simpl; rewrite E; lra).
  assert (B : introduction 2%nat = 1 / 10) by (unfold introduction; simpl; rewrite E; lra).
  repeat split; try assumption; try lra. intros H; apply private_steps in H; destruct H as [_ H].
  assert (N : @near (line 1 1) 2%nat 1%nat) by (simpl; lia).
  specialize (H 2%nat 1%nat N). rewrite A, B in H. apply le_step in H; simpl in H; lra.
Qed.

(** ** Theorem 2's "at most one (eps, delta)-DP mechanism"

    At most one optimal one: here are two with the same value at the blue boundary. *)
Theorem theorem_2_not_literally : exists M N : mechanism (line 2 1),
  private log_2 M /\ private log_2 N /\ (forall b, blue_boundary b -> M b = N b) /\ M 1%nat <> N 1%nat.
Proof.
  exists (fun _ => 1 / 2), (fun i => if Nat.eqb i 1 then 3 / 5 else 1 / 2).
  split; [|split; [|split; [|simpl; lra]]].
  - apply private_steps; split; [intros a; split; lra|]. intros a b _; apply step_extends; lra.
  - apply private_steps; split; [intros a; destruct (Nat.eqb a 1); split; lra|].
    intros a b _; apply le_step; simpl; destruct (Nat.eqb a 1), (Nat.eqb b 1); lra.
  - intros b Hb; apply line_blue_boundary in Hb; destruct Hb as [-> _]; reflexivity.
Qed.

(** ** No mechanism at (log 1.1, 0) with B_h = 0.6 and B_l = 0.7

    True, and by little: over the path h - n - q - l the value 0.6 allows 0.7 - 7/13310. *)
Theorem infeasible_by : steps log_1_1 3 (6 / 10) = 7 / 10 - 7 / 13310 /\ 5 / 10000 < 7 / 13310 < 6 / 10000.
Proof.
  split; [|lra]. simpl. replace (step log_1_1 (6 / 10)) with (7 / 11) by (late_step; lra).
  replace (step log_1_1 (7 / 11)) with (81 / 121) by (late_step; lra). late_step; lra.
Qed.

Theorem infeasible (G : graph) (h l : G) (M : mechanism G) :
  walk 3 h l -> private log_1_1 M -> ~ (M h = 6 / 10 /\ M l = 7 / 10).
Proof.
  intros W HM [Hh Hl]; pose proof (private_walks log_1_1 M 3 h l HM W) as H.
  rewrite Hh, Hl, (proj1 infeasible_by) in H; lra.
Qed.

(** ** Theorem 2, proof: the second bound on B_d'

    1 - B_d <= y (1 - B_d') + delta is B_d' <= (B_d + y + delta - 1) / y; the paper has y B_d for B_d. *)
Lemma second_bound P b b' :
  1 - b <= ratio P * (1 - b') + delta P <-> b' <= (b + ratio P + delta P - 1) / ratio P.
Proof.
  of_privacy P; assert (E : (b + ratio P + delta P - 1) / ratio P * ratio P = b + ratio P + delta P - 1) by (field; lra).
  split; intros; nra.
Qed.

Theorem second_bound_not_literally : exists P b b', probability b /\ probability b' /\
  b' <= (ratio P * b + ratio P + delta P - 1) / ratio P /\ ~ 1 - b <= ratio P * (1 - b') + delta P.
Proof. exists log_2, (1 / 2), (9 / 10); unfold probability; simpl; repeat split; lra. Qed.

(** ** Lemma 1 at y = 1

    Both sides are equal, and the condition holds. (For y > 1: [lemma_1].) *)
Theorem lemma_1_not_at_1 : let x := 9 / 10 in let y := 1 in let z := 0 in
  z < x * y + x - y /\ ~ 1 - y + x * y - z > (x - z) / y.
Proof. simpl; split; lra. Qed.

(** ** "The optimal boundary homogeneous mechanism" (Theorems 3 and 5)

    There is one for each value at the blue boundary, and none that dominates all: on the smallest line every mechanism is
    homogeneous, and none dominates both of Example 1. *)
Theorem no_best_of_all_values : forall M : mechanism (line 1 1), private log_2 M ->
  ~ (dominates M (example_1 (58 / 100) (76 / 100)) /\ dominates M (example_1 (64 / 100) (73 / 100))).
Proof.
  intros M HM [D E]. specialize (D 2%nat). specialize (E 1%nat). unfold truth, example_1 in D, E; simpl in D, E.
  apply private_steps in HM; destruct HM as [_ H]. assert (N : @near (line 1 1) 2%nat 1%nat) by (simpl; lia).
  specialize (H 2%nat 1%nat N). apply le_step in H; simpl in H; lra.
Qed.

(** ** Theorem 4, proof: the last chain of equalities

    Its second line is e^eps times the first one, and not equal to it. What it is for is right: [late_stays]. *)
Theorem chain_is_no_equality : let y := 2 in let d := 1 / 10 in let r := 1 / 2 in
  r - d + (r - d) / y - y <> y * r - y * d + r - d - y ^ 2.
Proof. simpl; lra. Qed.

Lemma chain y d r : y <> 0 -> y * (r - d + (r - d) / y - y) = y * r - y * d + r - d - y ^ 2.
Proof. intros; field; assumption. Qed.

(** ** R_e = 0.7447 after Theorem 5

    It is 1 - 0.2553, of a truncated 83/325; the value is 242/325, or 0.7446. *)
Theorem rounded :
  1 - 83 / 325 = 242 / 325 /\ Rabs (242 / 325 - 7446 / 10000) < 5 / 100000 /\ 242 / 325 + 8 / 100000 < 7447 / 10000.
Proof. split; [lra | split; [apply Rabs_def1; lra | lra]]. Qed.
