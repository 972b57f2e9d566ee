(** Where the paper's text must not be read literally: each row of the errata that is a statement, as a theorem.

    Numbers are exact. The graphs are small lines, so that each counterexample can be checked by hand. *)

From Coq Require Import Reals Lra Lia Psatz ZArith Arith.
From Duotone Require Import Step Graph Optimum Homogeneous Line ClosedForm Transition Balanced.
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

(** ** The introduction's formula for P_e

    "The shortest path to the nearest dataset of opposite color" is one more than the distance to the boundary of one's own
    colour, for which the formula is right (Corollary 2). Read literally it breaks privacy on the smallest line of all. *)
Definition introduction : mechanism (line 1 1) := fun i => if blue i then 1 - balanced_error log_2 1 else balanced_error log_2 1.

Lemma introduction_distance :
  away (fun i : line 1 1 => blue i = false) 1 (1%nat : line 1 1) /\ away (fun i : line 1 1 => blue i = true) 1 (2%nat : line 1 1).
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

(** ** tau below -1

    Theorem 4 then starts the terminal recurrence beyond the boundary, at R_(nB + m) for m = -1 - tau. Where the red side has
    that many datasets this is right all the same: up to there phi takes its first piece, and the terminal recurrence undoes
    it. On a shorter red side the dataset does not exist; max (tau, -1) is right everywhere ([theorem_4]). *)
Section Below.
Variables (P : privacy) (r : R).
Hypothesis Hr : probability r.
Hypothesis finite : r <> 1 \/ delta P <> 0.
Hypothesis Hy : 1 < ratio P.
Notation y := (ratio P).
Notation d := (delta P).

Lemma tau_below m : (tau P r <= -1 - Z.of_nat m)%Z <-> y ^ m * (y - 1 + 2 * d) <= ((1 - r) * (y - 1) + d) * (y + 1).
Proof.
  replace (-1 - Z.of_nat m)%Z with (Z.of_nat 0 - Z.of_nat (S m))%Z by lia. rewrite tau_least by assumption.
  pose proof (below_positive P r Hr finite Hy). set (q := _ * (y + 1)). assert (0 < q) by (unfold q; nra).
  assert (E : threshold P r * q = y - 1 + 2 * d) by (unfold threshold, q; field; split; lra). rewrite <- E; simpl.
  replace (threshold P r * (y * y ^ m)) with (y * (threshold P r * y ^ m)) by ring.
  replace (y ^ m * (threshold P r * q)) with (threshold P r * y ^ m * q) by ring.
  generalize (threshold P r * y ^ m); intros z; split; intros; nra.
Qed.

(** tau is below -1 exactly where the blue boundary tells the truth with [balance] or more. *)
Theorem tau_below_balance : (tau P r <= -2)%Z <-> balance P <= 1 - r.
Proof.
  pose proof (balance_is P) as B. rewrite (tau_below 1), pow_1.
  assert (((1 - r) * (y - 1) + d) * (y + 1) - y * (y - 1 + 2 * d) = (y - 1) * (1 + y) * (1 - r - balance P)).
  { replace d with (balance P * (1 + y) - y) by lra. ring. }
  assert (0 < (y - 1) * (1 + y)) by nra. split; intros; nra.
Qed.

Lemma early_beyond m i : (tau P r <= -1 - Z.of_nat m)%Z -> (i < m)%nat -> early P (1 - ini P (1 - r) i).
Proof.
  rewrite tau_below; intros T L; apply early_iff; [exact Hy|]. destruct m as [| m]; [lia|]. simpl in T.
  pose proof (power_positive P m). pose proof (power_positive P i). pose proof (Rle_pow y i m (Rlt_le _ _ Hy)).
  assert (0 <= (1 - (1 - r)) * (y - 1) + d) by (of_privacy P; destruct Hr; nra).
  set (a := (1 - (1 - r)) * (y - 1) + d) in *. set (s := y - 1 + 2 * d) in *. assert (0 < s) by (unfold s; of_privacy P; lra).
  replace ((1 - r) * (y - 1) + d) with (s - a) in T by (unfold s, a; ring).
  apply Rle_trans with (y ^ m * (a * (y + 1))); [apply Rmult_le_compat_r; [nra | apply H1; lia]|].
  enough (y ^ m * (s * (y + 1) - y * y ^ m * s) <= s) by nra.
  assert (0 <= (y ^ m - 1) * (y * y ^ m - 1)) by (apply Rmult_le_pos; nra). nra.
Qed.

Lemma ter_shift s j : ter P s (S j) = ter P ((s - d) / y) j.
Proof. induction j; [rewrite ter_S, !ter_0 | rewrite ter_S, IHj, <- ter_S]; reflexivity. Qed.

Theorem theorem_4_below m : (tau P r <= -1 - Z.of_nat m)%Z -> forall i, ter P (steps P m r) (i + m) = ter P r i.
Proof.
  intros T. assert (K : forall k, (k <= m)%nat -> forall i, ter P (steps P k r) (i + k) = ter P r i).
  { induction k as [| k IH]; intros L i; [rewrite Nat.add_0_r; reflexivity|].
    assert (Hn : probability (1 - r)) by (destruct Hr; split; lra).
    pose proof (early_phase P (1 - r) m Hn Hy (fun i => early_beyond m i T) k) as I. replace (1 - (1 - r)) with r in I by ring.
    pose proof (early_beyond m k T L) as E. rewrite <- I in E by lia. replace (1 - (1 - steps P k r)) with (steps P k r) in E by ring.
    replace (i + S k)%nat with (S (i + k)) by lia. simpl; rewrite ter_shift, step_early; [|apply steps_probability, Hr | exact E].
    replace ((y * steps P k r + d - d) / y) with (steps P k r) by (field; lra). apply IH; lia. }
  apply K; lia.
Qed.

End Below.

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
  assert (F8 : 8 / 10 <> 1 \/ delta log_1_3 <> 0) by (left; lra). assert (F2 : 2 / 10 <> 1 \/ delta log_1_3 <> 0) by (left; lra).
  assert (Hy : 1 < ratio log_1_3) by (simpl; lra).
  pose proof (tau_least log_1_3 (8 / 10) H8 F8 0 1 Hy) as A. pose proof (tau_least log_1_3 (8 / 10) H8 F8 0 0 Hy) as B.
  pose proof (tau_least log_1_3 (2 / 10) H2 F2 2 0 Hy) as C. pose proof (tau_least log_1_3 (2 / 10) H2 F2 3 0 Hy) as D.
  replace (threshold log_1_3 (8 / 10)) with (125 / 92) in * by (unfold threshold; simpl; field).
  replace (threshold log_1_3 (2 / 10)) with (250 / 391) in * by (unfold threshold; simpl; field). simpl in *. split.
  - assert (~ (tau log_1_3 (8 / 10) <= 0)%Z) by (rewrite B; lra). assert (tau log_1_3 (8 / 10) <= 1)%Z by (apply A; lra). lia.
  - assert (~ (tau log_1_3 (2 / 10) <= -3)%Z) by (rewrite D; lra). assert (tau log_1_3 (2 / 10) <= -2)%Z by (apply C; lra). lia.
Qed.

(** R_e = 0.7447 after Theorem 5 is 1 - 0.2553, of a truncated 83/325; the value is 242/325, or 0.7446. *)
Theorem rounded : 1 - 83 / 325 = 242 / 325 /\ Rabs (242 / 325 - 7446 / 10000) < 5 / 100000 /\ 242 / 325 + 8 / 100000 < 7447 / 10000.
Proof. split; [lra | split; [apply Rabs_def1; lra | lra]]. Qed.
