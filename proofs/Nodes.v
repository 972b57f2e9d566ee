(** Functions that are known by their values at nodes (close-calls.md, "On nodes" and "Rounding").

    Nodes are x j = x 0 * g^j for j = 0, ..., n, with g = 1 + 1/M and r = g^k, so that r times a node is a node. Between nodes
    U is straight, below the lowest it is straight to (0, 0), above the highest it has slope 1; u j is U (x j) / x j. On every
    piece the inequalities (1) and (2) compare straight lines: so they hold on it if they hold at both of its ends with the
    slope that U has on it. What an inequality fails by, relative to the ratio, is paid once per close call. *)

From Coq Require Import Reals Lra Psatz List Lia Arith.
From Duotone Require Import Step Graph Clock Game CloseCalls.
Open Scope R_scope.

(** What holds at both ends of a line holds between them. *)
Lemma line_between a b x z t : x <= t <= z -> a * x + b <= 0 -> a * z + b <= 0 -> a * t + b <= 0.
Proof.
  intros [L R] Hx Hz. destruct (Rle_dec 0 a) as [Ha | Ha].
  - assert (a * t <= a * z) by (apply Rmult_le_compat_l; lra). lra.
  - assert (- a * x <= - a * t) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(** Where a function is straight to the right, that is its derivative if it has one. *)
Lemma slope_right U a b t z l : t < z -> (forall s, t <= s <= z -> U s = a * s + b) -> derivable_pt_lim U t l -> l = a.
Proof.
  intros Hz E D. apply Rminus_diag_uniq. destruct (Req_dec (l - a) 0) as [Z | Z]; [exact Z|]. exfalso.
  destruct (D (Rabs (l - a))) as [d Hd]; [apply Rabs_pos_lt, Z|]. pose proof (cond_pos d).
  set (h := Rmin (d / 2) (z - t)). assert (Hh : 0 < h) by (apply Rmin_glb_lt; lra).
  assert (h <= d / 2) by apply Rmin_l. assert (h <= z - t) by apply Rmin_r.
  specialize (Hd h ltac:(lra) ltac:(rewrite Rabs_right; lra)). rewrite !E in Hd by lra.
  replace ((a * (t + h) + b - (a * t + b)) / h - l) with (- (l - a)) in Hd by (field; lra). rewrite Rabs_Ropp in Hd. lra.
Qed.

Section Nodes.
Variables (M lowest : R) (n k : nat).
Hypothesis M_positive : 0 < M.
Hypothesis lowest_positive : 0 < lowest.
Hypothesis reach : (k <= n)%nat.

Definition g := 1 + / M.
Definition x j := lowest * g ^ j.
Definition slope (u : nat -> R) j := (M + 1) * u (S j) - M * u j.

Lemma g_least : 1 < g.
Proof. unfold g. pose proof (Rinv_0_lt_compat _ M_positive). lra. Qed.

Lemma x_positive j : 0 < x j.
Proof. apply Rmult_lt_0_compat; [assumption | apply pow_lt; pose proof g_least; lra]. Qed.

Lemma x_next j : x (S j) = x j + x j / M.
Proof. unfold x, g; simpl; field; lra. Qed.

Lemma x_rises j : x j < x (S j).
Proof. rewrite x_next. pose proof (Rdiv_lt_0_compat _ _ (x_positive j) M_positive). lra. Qed.

Lemma x_monotone i j : (i <= j)%nat -> x i <= x j.
Proof. induction 1 as [|j L IH]; [lra | pose proof (x_rises j); lra]. Qed.

Lemma x_jump j : g ^ k * x j = x (j + k).
Proof. unfold x; rewrite pow_add; ring. Qed.

(** The function of the values u at the nodes. *)
Record on_nodes (u : nat -> R) (U : R -> R) := {
  below t : 0 < t <= x 0 -> U t = u O * t;
  between j t : (j < n)%nat -> x j <= t <= x (S j) -> U t = u j * x j + slope u j * (t - x j);
  above t : x n <= t -> U t = t - (1 - u n) * x n
}.

Lemma locate t : 0 < t -> t < x 0 \/ (exists j, (j < n)%nat /\ x j <= t < x (S j)) \/ x n <= t.
Proof.
  intros Ht. destruct (Rlt_dec t (x 0)) as [L | L]; [auto | right].
  clear reach; induction n as [|m IH]; [right; lra|]. destruct (Rlt_dec t (x (S m))) as [L' | L']; [left | right; lra].
  destruct IH as [(j & Hj & Lj) | IH]; [exists j; split; [lia | exact Lj] | exists m; split; [lia | lra]].
Qed.

Lemma nodes_piecewise u U : on_nodes u U -> piecewise (map x (seq 0 (S n))) U.
Proof.
  intros H p z [Hp Hz] N.
  assert (N' : forall j, (j <= n)%nat -> p < x j -> z <= x j).
  { intros j Hj L. apply Rnot_lt_le; intros C. apply (N (x j)); [apply in_map, in_seq; lia | lra]. }
  destruct (locate p Hp) as [L | [(j & Hj & Lj) | L]].
  - exists (u O), 0; intros t Ht. rewrite (below _ _ H); [ring|]. pose proof (N' O ltac:(lia) L). lra.
  - exists (slope u j), (u j * x j - slope u j * x j); intros t Ht. rewrite (between _ _ H j t); [ring | assumption |].
    pose proof (N' (S j) ltac:(lia) ltac:(lra)). lra.
  - exists 1, (- (1 - u n) * x n); intros t Ht. rewrite (above _ _ H); [ring | lra].
Qed.

(** u beyond the highest node; below the lowest one it is u 0, and j - k is 0 where j < k. *)
Definition beyond u j := if le_dec j n then u j else 1 - (1 - u n) / g ^ (j - n).

Lemma beyond_value u U j : on_nodes u U -> U (x j) = beyond u j * x j.
Proof.
  intros H; unfold beyond; destruct le_dec as [L | L].
  - destruct j as [|j]; [apply (below _ _ H); pose proof (x_positive 0); lra|].
    rewrite (between _ _ H j); [|lia | pose proof (x_rises j); lra]. unfold slope. rewrite x_next. field; lra.
  - rewrite (above _ _ H) by (apply x_monotone; lia). replace j with (n + (j - n))%nat at 1 3 by lia.
    unfold x; rewrite pow_add. field. apply pow_nonzero. pose proof g_least; lra.
Qed.

(** From one node to the next a function is straight, also beyond the highest. *)
Lemma straight_between u U j : on_nodes u U -> exists a b, forall t, x j <= t <= x (S j) -> U t = a * t + b.
Proof.
  intros H; destruct (le_lt_dec n j) as [L | L].
  - exists 1, (- (1 - u n) * x n); intros t Ht. rewrite (above _ _ H); [ring|]. pose proof (x_monotone n j L); lra.
  - exists (slope u j), (u j * x j - slope u j * x j); intros t Ht. rewrite (between _ _ H j t); [ring | assumption | lra].
Qed.

(** The line of a piece, and its ends. *)
Definition at_zero v j := v j * x j - slope v j * x j.

Lemma piece_end v j i : i = j \/ i = S j -> v i * x i = slope v j * x i + at_zero v j.
Proof. unfold at_zero; intros [-> | ->]; [ring|]. unfold slope; rewrite x_next; field; lra. Qed.

Lemma piece_line v V j t : on_nodes v V -> (j < n)%nat -> x j <= t <= x (S j) -> V t = slope v j * t + at_zero v j.
Proof. intros H Hj Ht; rewrite (between _ _ H j t Hj Ht); unfold at_zero; ring. Qed.

(** U is at most a line between nodes if it is so at them. *)
Lemma below_line u U c d i j t : on_nodes u U -> (i <= j)%nat ->
  (forall m, (i <= m <= j)%nat -> beyond u m * x m <= c * x m + d) ->
  x i <= t <= x j -> U t <= c * t + d.
Proof.
  intros H I L. setoid_rewrite <- (beyond_value u U) in L; [|exact H]. revert L.
  induction I as [|j I IH]; intros L Ht; [replace t with (x i) by lra; apply L; lia|].
  destruct (Rle_dec t (x j)) as [Lj | Lj]; [apply IH; [intros m Hm; apply L; lia | lra]|].
  destruct (straight_between u U j H) as (a & b & E). pose proof (x_rises j).
  assert (L0 := L j ltac:(lia)). assert (L1 := L (S j) ltac:(lia)). rewrite E in * by lra.
  enough ((a - c) * t + (b - d) <= 0) by lra. apply line_between with (x j) (x (S j)); lra.
Qed.

(** What is checked, from u with one close call less to v: each inequality at both ends of each piece, with its slope; e is
    what it may fail by. *)
Record node_step (e : R) (u v : nat -> R) := {
  fails_least : 0 <= e;
  node_1 j i : (j < n)%nat -> i = j \/ i = S j -> g ^ k * beyond u (i + k) <= v i + (g ^ k - 1) * slope v j + e;
  node_2 j i : (j < n)%nat -> i = j \/ i = S j -> u (i - k)%nat <= g ^ k * v i - (g ^ k - 1) * slope v j + e;
  node_3 j : (j <= n)%nat -> u j <= v j + e;
  node_below j : (j <= k)%nat -> u j <= v O + e;
  node_above j : (j <= n <= j + k)%nat -> (1 - v n) * g ^ (n - j) <= 1 - u j + e
}.

Lemma jump_least : 1 <= g ^ k.
Proof. apply pow_R1_Rle. pose proof g_least; lra. Qed.

End Nodes.
