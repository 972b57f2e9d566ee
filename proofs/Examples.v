(** The paper's examples, with exact numbers. *)

From Coq Require Import Reals Lra Lia Psatz ZArith Arith Bool.
From Duotone Require Import Step Graph Morphism Optimum Homogeneous Line BoundaryMorphism ClosedForm Transition Tau Balanced.
Open Scope R_scope.

(** The privacy parameters of the paper's examples: (log 2, 0.1), (log 1.3, 0.1) and (log 1.1, 0). *)
Definition log_2 : privacy.
Proof. refine {| ratio := 2; delta := 1 / 10 |}; lra. Defined.
Definition log_1_3 : privacy.
Proof. refine {| ratio := 13 / 10; delta := 1 / 10 |}; lra. Defined.
Definition log_1_1 : privacy.
Proof. refine {| ratio := 11 / 10; delta := 0 |}; lra. Defined.

(** Steps with numbers in them. *)
Ltac early_step := rewrite step_early by (unfold early; simpl; lra); simpl.
Lemma late_value P x : late P x -> 0 <= 1 - x - delta P -> step P x = 1 - (1 - x - delta P) / ratio P.
Proof.
  intros L H; pose proof (step_late P x L) as S. of_privacy P. rewrite Rmax_right in S; [lra|].
  apply Rmult_le_pos; [exact H | apply Rlt_le, Rinv_0_lt_compat; lra].
Qed.

Ltac late_step := rewrite late_value by ((right; simpl; lra) || (simpl; lra)); simpl.

(** ** Example 1: two private mechanisms, of which neither dominates the other *)
Definition example_1 x y : mechanism (line 1 1) := fun i => if blue i then x else 1 - y.

Theorem example_1_incomparable :
  let M := example_1 (58 / 100) (76 / 100) in let N := example_1 (64 / 100) (73 / 100) in
  private log_2 M /\ private log_2 N /\ ~ dominates M N /\ ~ dominates N M.
Proof.
  assert (K : forall x y, probability x -> probability y -> x <= step log_2 (1 - y) -> 1 - y <= step log_2 x ->
              private log_2 (example_1 x y)).
  { intros x y Hx Hy U V; apply private_steps; unfold example_1; split.
    - intros i; destruct (blue i); [exact Hx | destruct Hy; split; lra].
    - intros i j _; destruct (blue i), (blue j); try assumption; apply step_extends; destruct Hx, Hy; lra. }
  split; [|split; [|split]].
  - apply K; try (split; lra); apply le_step; simpl; lra.
  - apply K; try (split; lra); apply le_step; simpl; lra.
  - intros D; specialize (D 1%nat); unfold truth, example_1 in D; simpl in D; lra.
  - intros D; specialize (D 2%nat); unfold truth, example_1 in D; simpl in D; lra.
Qed.

(** ** Example 3: three voters and the majority

    The number of the line is one more than that of the votes for 2 (false here), so 212 goes to d_3. This is the boundary
    morphism, and the balanced optimum at (log 2, 0.1) has the numbers at the end of the paper. *)
Definition majority (a b c : bool) := if a then b || c else b && c.

Definition votes : graph.
Proof.
  refine {| dataset := bool * bool * bool; blue := fun '(a, b, c) => majority a b c;
            near := fun '(a, b, c) '(a', b', c') =>
              (a <> a' /\ b = b' /\ c = c') \/ (a = a' /\ b <> b' /\ c = c') \/ (a = a' /\ b = b' /\ c <> c') |}.
  intros [[a b] c] [[a' b'] c']; intuition.
Defined.

Definition votes_distance : votes -> option nat :=
  fun '(a, b, c) => Some (if (eqb a b && eqb b c)%bool then 1 else 0)%nat.

Ltac beside w := exists (w : votes); simpl; intuition congruence.

Lemma votes_boundary (v : votes) : votes_distance v = Some 0%nat -> boundary (blue v) v.
Proof.
  destruct v as [[[] []] []]; simpl; try discriminate; intros _; (split; [reflexivity|]);
    first [beside (true, true, false) | beside (true, false, true) | beside (false, true, true)
          | beside (true, false, false) | beside (false, true, false) | beside (false, false, true)].
Qed.

(** One edge away from a boundary dataset, and in no boundary: distance 1. *)
Lemma votes_inside (v w : votes) :
  votes_distance v = Some 1%nat -> votes_distance w = Some 0%nat -> blue w = blue v -> near w v -> away (boundary (blue v)) 1 v.
Proof.
  intros V W C N; split; [exists w; split; [rewrite <- C; apply votes_boundary, W | apply walk_edge, N]|].
  intros [| m] u B U; [|lia]. apply walk_none in U; subst u.
  destruct v as [[[] []] []]; simpl in V, B; try discriminate;
    destruct B as (_ & [[[] []] []] & E & D); simpl in E, D; intuition congruence.
Qed.

Lemma votes_measured : measures votes_distance.
Proof.
  intros v; destruct (votes_distance v) as [k|] eqn:E; [|destruct v as [[? ?] ?]; discriminate].
  destruct v as [[[] []] []]; simpl in E; injection E as <-; try (apply away_inside, votes_boundary; reflexivity).
  - apply (votes_inside (true, true, true) (true, true, false)); simpl; intuition.
  - apply (votes_inside (false, false, false) (true, false, false)); simpl; intuition.
Qed.

Theorem example_3 : long_enough 2 2 votes_distance /\
  forall a b c, boundary_morphism 2 2 votes_distance (a, b, c) =
                (1 + Nat.b2n (negb a) + Nat.b2n (negb b) + Nat.b2n (negb c))%nat.
Proof.
  split; [|intros [] [] []; reflexivity]. intros v k; destruct v as [[[] []] []]; simpl; intros [= <-]; lia.
Qed.

Theorem voting_numbers (v : votes) :
  1 - truth (balanced_optimum log_2 votes) v = match votes_distance v with Some 0%nat => 3 / 10 | _ => 1 / 10 end.
Proof.
  pose proof (votes_measured v) as A. destruct (votes_distance v) as [k|] eqn:D; [|destruct v as [[? ?] ?]; discriminate].
  rewrite (corollary_2 log_2 votes v k A). unfold balanced_error; simpl ratio; simpl delta. destruct Req_EM_T; [lra|].
  assert (k = 0 \/ k = 1)%nat as [-> | ->] by (destruct v as [[[] []] []]; simpl in D; injection D; lia);
    simpl; rewrite Rmax_right; lra.
Qed.

(** ** Example 4 and its dual

    R_4 = 0.8 on the (4,3)-line. In the dual, R_4 = 0.2 sits across the boundary and its step to 1/13 crosses it. *)
Lemma four_fifths : probability (1 - 8 / 10).
Proof. split; lra. Qed.

Theorem example_4 : let M := homogeneous_optimum log_1_3 (line 4 3) (1 - 8 / 10) four_fifths in
  1 - M 4%nat = 8 / 10 /\ 1 - M 3%nat = 64 / 100 /\ 1 - M 2%nat = 432 / 1000 /\ 1 - M 1%nat = 83 / 325 /\
  M 5%nat = 1 / 13 /\ M 6%nat = 0 /\ M 7%nat = 0.
Proof.
  intros M.
  assert (B : forall i : line 4 3, (1 <= i <= 4)%nat -> M i = steps log_1_3 (4 - i) (1 - 8 / 10)).
  { intros i Hi; apply blue_truth; [apply line_blue | apply line_away_blue]; lia. }
  assert (D : forall i : line 4 3, (5 <= i <= 7)%nat -> 1 - M i = steps log_1_3 (i - 5) (step log_1_3 (1 - (1 - 8 / 10)))).
  { intros i Hi; apply red_truth; [apply line_red | apply line_away_red]; simpl in *; lia. }
  pose proof (B 4%nat ltac:(lia)) as B4; pose proof (B 3%nat ltac:(lia)) as B3; pose proof (B 2%nat ltac:(lia)) as B2.
  pose proof (B 1%nat ltac:(lia)) as B1; pose proof (D 5%nat ltac:(lia)) as D5; pose proof (D 6%nat ltac:(lia)) as D6.
  pose proof (D 7%nat ltac:(lia)) as D7; simpl in B4, B3, B2, B1, D5, D6, D7.
  assert (E1 : step log_1_3 (1 - 8 / 10) = 36 / 100) by (early_step; lra).
  assert (E2 : step log_1_3 (36 / 100) = 568 / 1000) by (early_step; lra).
  assert (E3 : step log_1_3 (568 / 1000) = 242 / 325) by (late_step; lra).
  assert (E4 : step log_1_3 (1 - (1 - 8 / 10)) = 12 / 13) by (late_step; lra).
  assert (E5 : forall x, 12 / 13 <= x -> step log_1_3 x = 1).
  { intros x Hx; apply Rle_antisym; [apply step_most | apply le_step; simpl; lra]. }
  rewrite E1 in B3, B2, B1; rewrite E2 in B2, B1; rewrite E3 in B1.
  rewrite E4 in D5, D6, D7; rewrite (E5 (12 / 13)) in D6, D7 by lra; rewrite (E5 1) in D7 by lra.
  repeat split; lra.
Qed.

(** Its tau is 1, that of the dual -2. *)
Theorem example_4_tau : tau log_1_3 (8 / 10) = 1%Z /\ tau log_1_3 (2 / 10) = (-2)%Z.
Proof.
  assert (H8 : probability (8 / 10)) by (split; lra). assert (H2 : probability (2 / 10)) by (split; lra).
  assert (F8 : 8 / 10 <> 1 \/ delta log_1_3 <> 0) by (left; lra).
  assert (F2 : 2 / 10 <> 1 \/ delta log_1_3 <> 0) by (left; lra).
  assert (Hy : 1 < ratio log_1_3) by (simpl; lra).
  pose proof (tau_least log_1_3 (8 / 10) H8 F8 0 1 Hy) as A. pose proof (tau_least log_1_3 (8 / 10) H8 F8 0 0 Hy) as B.
  pose proof (tau_least log_1_3 (2 / 10) H2 F2 2 0 Hy) as C. pose proof (tau_least log_1_3 (2 / 10) H2 F2 3 0 Hy) as D.
  replace (threshold log_1_3 (8 / 10)) with (125 / 92) in * by (unfold threshold; simpl; field).
  replace (threshold log_1_3 (2 / 10)) with (250 / 391) in * by (unfold threshold; simpl; field). simpl in *. split.
  - assert (~ (tau log_1_3 (8 / 10) <= 0)%Z) by (rewrite B; lra). assert (tau log_1_3 (8 / 10) <= 1)%Z by (apply A; lra). lia.
  - assert (~ (tau log_1_3 (2 / 10) <= -3)%Z) by (rewrite D; lra). assert (tau log_1_3 (2 / 10) <= -2)%Z by (apply C; lra). lia.
Qed.
