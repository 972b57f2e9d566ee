(** From one close call to the next: the inequalities at nodes hold everywhere (close-calls.md, "On nodes").

    u with its function U has one close call less than v with V. Below the nodes, on each piece between them and above them,
    U at r * t and at t / r is compared with a line that V gives, at the nodes that lie there. *)

From Coq Require Import Reals Lra Psatz List Lia Arith.
From Duotone Require Import Step Graph Clock Game CloseCalls Nodes.
Open Scope R_scope.

Section NodeSteps.
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
Notation x_jump := (x_jump M lowest k).
Notation below_line := (below_line M lowest n k M_positive lowest_positive reach).
Notation fails_least := (fails_least M n k).
Notation node_1 := (node_1 M n k).
Notation node_2 := (node_2 M n k).
Notation node_3 := (node_3 M n k).
Notation node_below := (node_below M n k).
Notation node_above := (node_above M n k).

Variables (e : R) (u v : nat -> R) (U V : R -> R).
Hypothesis HU : on_nodes u U.
Hypothesis HV : on_nodes v V.
Hypothesis HS : node_step e u v.

Lemma step_3 t : 0 < t -> U t <= V t + e * t.
Proof.
  intros Ht. pose proof (fails_least _ _ _ HS). destruct (locate t Ht) as [L | [(j & Hj & Lj) | L]].
  - rewrite (below _ _ HU), (below _ _ HV) by lra. pose proof (node_3 _ _ _ HS O ltac:(lia)). nra.
  - rewrite (piece_line v V j t HV Hj) by lra.
    enough (U t <= (slope v j + e) * t + at_zero v j) by lra.
    apply (below_line u U _ _ j (S j)); [assumption | lia | | lra].
    intros m Hm; unfold Nodes.beyond; destruct le_dec; [|lia]. pose proof (node_3 _ _ _ HS m ltac:(lia)).
    pose proof (x_positive m).
    assert (u m * x m <= (v m + e) * x m) by (apply Rmult_le_compat_r; lra). pose proof (piece_end v j m ltac:(lia)). lra.
  - rewrite (above _ _ HU), (above _ _ HV) by lra. pose proof (node_3 _ _ _ HS n ltac:(lia)). pose proof (x_positive n).
    assert (u n * x n <= (v n + e) * x n) by (apply Rmult_le_compat_r; lra). nra.
Qed.

(** (1) below the nodes: U with one close call less is below a line through (0, 0), up to a factor r above the lowest node. *)
Lemma step_1_below t : 0 < t < x 0 -> U (g ^ k * t) <= (v O + e) * (g ^ k * t) + 0.
Proof.
  intros Ht. pose proof jump_least. assert (0 < g ^ k * t) by (apply Rmult_lt_0_compat; lra).
  destruct (Rle_dec (g ^ k * t) (x 0)) as [L' | L'].
  - rewrite (below _ _ HU) by lra. pose proof (node_below _ _ _ HS O ltac:(lia)).
    rewrite Rplus_0_r; apply Rmult_le_compat_r; lra.
  - apply (below_line u U _ _ 0 k); [assumption | lia | |].
    + intros m Hm; unfold Nodes.beyond; destruct le_dec; [|lia]. pose proof (node_below _ _ _ HS m ltac:(lia)).
      pose proof (x_positive m). rewrite Rplus_0_r; apply Rmult_le_compat_r; lra.
    + split; [lra|]. pose proof (x_jump 0) as J; simpl in J. rewrite <- J. apply Rmult_le_compat_l; lra.
Qed.

Lemma step_1_between j t : (j < n)%nat -> x j <= t <= x (S j) ->
  U (g ^ k * t) <= (slope v j + e) * (g ^ k * t) + at_zero v j.
Proof.
  intros Hj Lj. pose proof (fails_least _ _ _ HS) as He. pose proof jump_least as Hr.
  apply (below_line u U _ _ (j + k) (S j + k)); [assumption | lia | |].
  - intros m Hm. assert (exists i, (i = j \/ i = S j) /\ m = (i + k)%nat) as (i & Hi & ->).
    { assert (m = j + k \/ m = S j + k)%nat as [-> | ->] by lia; eauto. }
    rewrite <- x_jump. pose proof (node_1 _ _ _ HS j i Hj Hi) as N. pose proof (x_positive i). pose proof (piece_end v j i Hi).
    apply Rmult_le_compat_r with (r := x i) in N; [|lra].
    assert (e * x i <= e * (g ^ k * x i)).
    { apply Rmult_le_compat_l; [lra|]. rewrite <- (Rmult_1_l (x i)) at 1. apply Rmult_le_compat_r; lra. }
    lra.
  - rewrite <- !x_jump; split; apply Rmult_le_compat_l; lra.
Qed.

(** Slopes of V, wherever it has one. *)
Lemma slope_below t l : 0 < t < x 0 -> derivable_pt_lim V t l -> l = v O.
Proof. intros Ht; apply slope_right with 0 (x 0); [lra|]. intros; rewrite (below _ _ HV); lra. Qed.

Lemma slope_between j t l : (j < n)%nat -> x j <= t < x (S j) -> derivable_pt_lim V t l -> l = slope v j.
Proof. intros Hj Ht; apply slope_right with (at_zero v j) (x (S j)); [lra|]. intros; apply piece_line; auto; lra. Qed.

Lemma slope_above t l : x n <= t -> derivable_pt_lim V t l -> l = 1.
Proof. intros Ht; apply slope_right with (- (1 - v n) * x n) (t + 1); [lra|]. intros; rewrite (above _ _ HV); lra. Qed.

Lemma highest : u n * x n <= (v n + e) * x n.
Proof. pose proof (node_3 _ _ _ HS n ltac:(lia)). pose proof (x_positive n). apply Rmult_le_compat_r; lra. Qed.

Lemma step_1 t l : 0 < t -> derivable_pt_lim V t l -> U (g ^ k * t) <= V t + (g ^ k - 1) * t * l + g ^ k * (e * t).
Proof.
  intros Ht D. pose proof (fails_least _ _ _ HS) as He. pose proof jump_least as Hr.
  assert (Hrt : 1 * t <= g ^ k * t) by (apply Rmult_le_compat_r; lra).
  destruct (locate t Ht) as [L | [(j & Hj & Lj) | L]].
  - rewrite (slope_below t l ltac:(lra) D), (below _ _ HV) by lra. pose proof (step_1_below t ltac:(lra)). lra.
  - rewrite (slope_between j t l Hj Lj D), (piece_line v V j t HV Hj) by lra.
    pose proof (step_1_between j t Hj ltac:(lra)). lra.
  - rewrite (slope_above t l L D), (above _ _ HV), (above _ _ HU) by lra. pose proof highest.
    assert (e * x n <= e * t) by (apply Rmult_le_compat_l; lra).
    assert (0 <= e * t) by (apply Rmult_le_pos; lra).
    assert (1 * (e * t) <= g ^ k * (e * t)) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Lemma step_2_end j i : (j < n)%nat -> i = j \/ i = S j ->
  u (i - k)%nat * (x i / g ^ k) <= (slope v j + e) * (x i / g ^ k) + at_zero v j.
Proof.
  intros Hj Hi. pose proof jump_least as Hr. pose proof (node_2 _ _ _ HS j i Hj Hi) as N. pose proof (x_positive i).
  pose proof (piece_end v j i Hi) as P. apply Rmult_le_compat_r with (r := x i) in N; [|lra].
  apply Rmult_le_reg_l with (g ^ k); [lra|].
  replace (g ^ k * (u (i - k)%nat * (x i / g ^ k))) with (u (i - k)%nat * x i) by (field; lra).
  replace (g ^ k * ((slope v j + e) * (x i / g ^ k) + at_zero v j))
    with ((slope v j + e) * x i + g ^ k * at_zero v j) by (field; lra).
  assert (g ^ k * (v i * x i) = g ^ k * (slope v j * x i + at_zero v j)) by (rewrite P; reflexivity). lra.
Qed.

Lemma step_2_between j s : (j < n)%nat -> x j <= g ^ k * s <= x (S j) -> 0 < s -> U s <= (slope v j + e) * s + at_zero v j.
Proof.
  intros Hj Lj Hs. pose proof jump_least as Hr. pose proof (step_2_end j) as N.
  assert (Down : forall c, g ^ k * s <= g ^ k * c -> s <= c) by (intros; apply Rmult_le_reg_l with (g ^ k); lra).
  assert (Up : forall c, g ^ k * c <= g ^ k * s -> c <= s) by (intros; apply Rmult_le_reg_l with (g ^ k); lra).
  destruct (le_lt_dec k j) as [Lk | Lk].
  - apply (below_line u U _ _ (j - k) (S j - k)); [assumption | lia | |].
    + intros m Hm. assert (exists i, (i = j \/ i = S j) /\ m = (i - k)%nat /\ (k <= i)%nat) as (i & Hi & -> & Ki).
      { assert (m = j - k \/ m = S j - k)%nat as [-> | ->] by lia; [exists j | exists (S j)]; repeat split; auto; lia. }
      unfold Nodes.beyond; destruct le_dec; [|lia]. replace (x (i - k)) with (x i / g ^ k); [apply N; auto|].
      replace i with (i - k + k)%nat at 1 by lia. rewrite <- x_jump. field; lra.
    + split; [apply Up | apply Down]; rewrite x_jump; [replace (j - k + k)%nat with j by lia
        | replace (S j - k + k)%nat with (S j) by lia]; lra.
  - assert (x (S j) <= x k) by (apply x_monotone; lia). pose proof (x_jump 0) as J; simpl in J.
    rewrite (below _ _ HU) by (split; [assumption | apply Down; lra]).
    pose proof (N j Hj ltac:(auto)) as N0. pose proof (N (S j) Hj ltac:(auto)) as N1.
    replace (j - k)%nat with O in N0 by lia. replace (S j - k)%nat with O in N1 by lia.
    enough ((u O - slope v j - e) * s + - at_zero v j <= 0) by lra.
    apply line_between with (x j / g ^ k) (x (S j) / g ^ k); [|lra|lra].
    split; [apply Up | apply Down]; [replace (g ^ k * (x j / g ^ k)) with (x j) by (field; lra)
      | replace (g ^ k * (x (S j) / g ^ k)) with (x (S j)) by (field; lra)]; lra.
Qed.

(** (2) above the nodes: U with one close call less is below a line of slope 1, from a factor r below the highest node on. *)
Lemma step_2_above s : x n <= g ^ k * s -> 0 < s -> U s <= (1 + e) * s + - ((1 - v n) * x n).
Proof.
  intros L Hs. pose proof (fails_least _ _ _ HS) as He. pose proof jump_least as Hr.
  destruct (Rle_dec s (x n)) as [Ln | Ln].
  - apply (below_line u U _ _ (n - k) n); [assumption | lia | |].
    + intros m Hm; unfold Nodes.beyond; destruct le_dec; [|lia]. pose proof (node_above _ _ _ HS m ltac:(lia)) as N.
      pose proof (x_positive m). apply Rmult_le_compat_r with (r := x m) in N; [|lra].
      replace ((1 - v n) * g ^ (n - m) * x m) with ((1 - v n) * x n) in N; [lra|].
      replace n with (m + (n - m))%nat at 2 by lia. unfold Nodes.x; rewrite pow_add; ring.
    + split; [|assumption]. apply Rmult_le_reg_l with (g ^ k); [lra|].
      rewrite x_jump. replace (n - k + k)%nat with n by lia. assumption.
  - rewrite (above _ _ HU) by lra. pose proof highest. assert (e * x n <= e * s) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma step_2 t l : 0 < t -> derivable_pt_lim V t l -> g ^ k * U (t / g ^ k) <= g ^ k * V t - (g ^ k - 1) * t * l + e * t.
Proof.
  intros Ht D. pose proof jump_least as Hr.
  set (s := t / g ^ k). assert (Es : t = g ^ k * s) by (unfold s; field; lra).
  assert (Hs : 0 < s) by (apply Rdiv_lt_0_compat; lra). clearbody s.
  assert (Hst : 1 * s <= g ^ k * s) by (apply Rmult_le_compat_r; lra).
  assert (Times : forall c, U s <= c -> g ^ k * U s <= g ^ k * c) by (intros; apply Rmult_le_compat_l; lra).
  destruct (locate t Ht) as [L | [(j & Hj & Lj) | L]].
  - rewrite (slope_below t l ltac:(lra) D), (below _ _ HV), (below _ _ HU) by lra. pose proof (node_3 _ _ _ HS O ltac:(lia)).
    assert (u O * t <= (v O + e) * t) by (apply Rmult_le_compat_r; lra). rewrite Es in *. lra.
  - rewrite (slope_between j t l Hj Lj D), (piece_line v V j t HV Hj) by lra. rewrite Es in *.
    pose proof (Times _ (step_2_between j s Hj ltac:(lra) Hs)). lra.
  - rewrite (slope_above t l L D), (above _ _ HV) by lra. rewrite Es in *. pose proof (Times _ (step_2_above s L Hs)). lra.
Qed.

End NodeSteps.
