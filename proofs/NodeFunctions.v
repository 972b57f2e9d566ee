(** Functions U_0, ..., U_tau from values at nodes meet all that the theorem on close calls asks (docs/theory.md,
    "On nodes" and "Rounding"): (0) by the first function's values, (1) to (3) by NodeSteps.v, and what they fail by is paid. *)

From Coq Require Import Reals Lra Psatz List Lia Arith.
From Duotone Require Import Step Graph Clock Game CloseCalls Nodes NodeSteps.
Open Scope R_scope.

Section NodeFunctions.
Variables (M lowest : R) (n k : nat).
Hypothesis M_positive : 0 < M.
Hypothesis lowest_positive : 0 < lowest.
Hypothesis reach : (k <= n)%nat.

Notation g := (g M).
Notation x := (x M lowest).
Notation slope := (slope M).
Notation at_zero := (at_zero M lowest).
Notation on_nodes := (on_nodes M lowest n).
Notation beyond := (beyond M n).
Notation node_step := (node_step M n k).
Notation below := (below M lowest n).
Notation above := (above M lowest n).
Notation between := (between M lowest n).
Notation x_positive := (x_positive M lowest M_positive lowest_positive).
Notation x_rises := (x_rises M lowest M_positive lowest_positive).
Notation x_monotone := (x_monotone M lowest M_positive lowest_positive).
Notation jump_least := (jump_least M k M_positive).
Notation piece_end := (piece_end M lowest M_positive).
Notation piece_line := (piece_line M lowest n).
Notation locate := (locate M lowest n).
Notation nodes_piecewise := (nodes_piecewise M lowest n k reach).
Notation beyond_value := (beyond_value M lowest n k M_positive lowest_positive reach).
Notation step_1 := (step_1 M lowest n k M_positive lowest_positive reach).
Notation step_2 := (step_2 M lowest n k M_positive lowest_positive reach).
Notation step_3 := (step_3 M lowest n k M_positive lowest_positive reach).

(** There is such a function for any values. *)
Fixpoint path u m t := match m with
  | O => u O * t
  | S m => if Rle_dec t (x m) then path u m t else slope u m * t + at_zero u m
  end.
Definition join u t := if Rle_dec t (x n) then path u n t else t - (1 - u n) * x n.

Lemma path_below u m t : t <= x 0 -> path u m t = u O * t.
Proof.
  intros Ht; induction m as [|m IH]; simpl; [reflexivity|]. destruct Rle_dec as [|C]; [assumption|].
  pose proof (x_monotone 0 m ltac:(lia)); lra.
Qed.

Lemma path_end u m : path u m (x m) = u m * x m.
Proof.
  destruct m as [|m]; simpl; [reflexivity|]. pose proof (x_rises m). destruct Rle_dec; [lra|].
  symmetry; apply piece_end; auto.
Qed.

Lemma path_between u m j t : (j < m)%nat -> x j <= t <= x (S j) -> path u m t = slope u j * t + at_zero u j.
Proof.
  intros Hj Ht; induction m as [|m IH]; [lia|]; simpl. destruct (Nat.eq_dec j m) as [-> | N].
  - destruct Rle_dec; [|reflexivity]. replace t with (x m) by lra. rewrite path_end. apply piece_end; auto.
  - pose proof (x_monotone (S j) m ltac:(lia)). destruct Rle_dec; [apply IH; lia | lra].
Qed.

Lemma join_on_nodes u : on_nodes u (join u).
Proof.
  split; unfold join.
  - intros t Ht. pose proof (x_monotone 0 n ltac:(lia)). destruct Rle_dec; [apply path_below; lra | lra].
  - intros j t Hj Ht. pose proof (x_monotone (S j) n Hj). destruct Rle_dec; [|lra].
    rewrite (path_between u n j t Hj Ht); unfold Nodes.at_zero; ring.
  - intros t Ht. destruct Rle_dec; [|reflexivity]. replace t with (x n) by lra. rewrite path_end; ring.
Qed.

Section Functions.
Variables (y : R) (tau : nat) (u : nat -> nat -> R) (e : nat -> R).
Hypothesis y_least : 0 <= y.
Hypothesis start : forall j, (j <= n)%nat -> 0 <= u O j /\ x j - y <= u O j * x j.
Hypothesis steps : forall h, (h < tau)%nat -> node_step (e h) (u h) (u (S h)).

(** What is paid for all that fails, once per close call. *)
Fixpoint paid h := match h with O => 0 | S h => paid h + e h end.
Definition U h t := join (u h) t + paid h * t.

Lemma start_everywhere t : 0 < t -> Rmax 0 (t - y) <= join (u O) t.
Proof.
  intros Ht. pose proof (join_on_nodes (u O)) as H. apply Rmax_lub; destruct (locate t Ht) as [L | [(j & Hj & Lj) | L]].
  - rewrite (below _ _ H) by lra. apply Rmult_le_pos; [apply (start O); lia | lra].
  - rewrite (piece_line _ _ j t H Hj) by lra. enough (- slope (u O) j * t + - at_zero (u O) j <= 0) by lra.
    apply line_between with (x j) (x (S j)); [lra | |].
    + pose proof (piece_end (u O) j j ltac:(auto)). pose proof (x_positive j).
      pose proof (Rmult_le_pos _ _ (proj1 (start j ltac:(lia))) (Rlt_le _ _ (x_positive j))). lra.
    + pose proof (piece_end (u O) j (S j) ltac:(auto)).
      pose proof (Rmult_le_pos _ _ (proj1 (start (S j) ltac:(lia))) (Rlt_le _ _ (x_positive (S j)))). lra.
  - rewrite (above _ _ H) by lra.
    pose proof (Rmult_le_pos _ _ (proj1 (start n ltac:(lia))) (Rlt_le _ _ (x_positive n))). lra.
  - rewrite (below _ _ H) by lra. enough ((1 - u O O) * t + - y <= 0) by lra.
    apply line_between with 0 (x 0); [lra | lra |]. pose proof (proj2 (start O ltac:(lia))). lra.
  - rewrite (piece_line _ _ j t H Hj) by lra. enough ((1 - slope (u O) j) * t + (- y - at_zero (u O) j) <= 0) by lra.
    apply line_between with (x j) (x (S j)); [lra | |].
    + pose proof (piece_end (u O) j j ltac:(auto)). pose proof (proj2 (start j ltac:(lia))). lra.
    + pose proof (piece_end (u O) j (S j) ltac:(auto)). pose proof (proj2 (start (S j) ltac:(lia))). lra.
  - rewrite (above _ _ H) by lra. pose proof (proj2 (start n ltac:(lia))). lra.
Qed.

Lemma join_slope h t l : derivable_pt_lim (U h) t l -> derivable_pt_lim (join (u h)) t (l - paid h).
Proof.
  intros D. assert (P := derivable_pt_lim_scal id (paid h) t 1 (derivable_pt_lim_id t)).
  pose proof (derivable_pt_lim_minus _ _ _ _ _ D P) as E. rewrite Rmult_1_r in E.
  intros eps Heps; destruct (E eps Heps) as [d Hd]; exists d; intros z Hz Lz; specialize (Hd z Hz Lz).
  unfold minus_fct, mult_real_fct, U, id in Hd. replace (join (u h) (t + z)) with
    (join (u h) (t + z) + paid h * (t + z) - paid h * (t + z)) by ring.
  replace (join (u h) t) with (join (u h) t + paid h * t - paid h * t) by ring. exact Hd.
Qed.

(** The functions of the nodes meet all that the theorem asks. *)
Theorem nodes_bound : bounds y (g ^ k) tau U.
Proof.
  pose proof jump_least as Hr. split.
  - intros h _. exists (map x (seq 0 (S n))). intros p z Hp N.
    destruct (nodes_piecewise _ _ (join_on_nodes (u h)) p z Hp N) as (a & b & E).
    exists (a + paid h), b; intros t Ht; unfold U; rewrite E by assumption; ring.
  - intros t Ht; unfold U; simpl. rewrite Rmult_0_l, Rplus_0_r. apply start_everywhere, Ht.
  - intros h t l Hh Ht D. apply join_slope in D.
    pose proof (step_1 _ _ _ _ _ (join_on_nodes (u h)) (join_on_nodes (u (S h))) (steps h Hh) t _ Ht D).
    unfold U; simpl in *. lra.
  - intros h t l Hh Ht D. apply join_slope in D.
    pose proof (step_2 _ _ _ _ _ (join_on_nodes (u h)) (join_on_nodes (u (S h))) (steps h Hh) t _ Ht D) as E.
    unfold U; simpl in *. replace (g ^ k * (join (u h) (t / g ^ k) + paid h * (t / g ^ k)))
      with (g ^ k * join (u h) (t / g ^ k) + paid h * t) by (field; lra). lra.
  - intros h t Hh Ht.
    pose proof (step_3 _ _ _ _ _ (join_on_nodes (u h)) (join_on_nodes (u (S h))) (steps h Hh) t Ht). unfold U; simpl. lra.
Qed.

(** What is read at the node of 1. *)
Lemma U_at_one i : (i <= n)%nat -> x i = 1 -> U tau 1 = u tau i + paid tau.
Proof.
  intros Hi E. unfold U. rewrite <- E at 1. rewrite (beyond_value (u tau) _ i (join_on_nodes _)), E.
  unfold Nodes.beyond; destruct le_dec; [ring | lia].
Qed.

End Functions.

End NodeFunctions.
