(** Functions that are known by their values at nodes (docs/close-calls.md, "On nodes" and "Rounding").

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

Section Step.
Variables (e : R) (u v : nat -> R) (U V : R -> R).
Hypothesis HU : on_nodes u U.
Hypothesis HV : on_nodes v V.
Hypothesis HS : node_step e u v.

Lemma r_least' : 1 <= g ^ k.
Proof. apply pow_R1_Rle. pose proof g_least; lra. Qed.

Lemma step_3 t : 0 < t -> U t <= V t + e * t.
Proof.
  intros Ht. pose proof (fails_least _ _ _ HS). destruct (locate t Ht) as [L | [(j & Hj & Lj) | L]].
  - rewrite (below _ _ HU), (below _ _ HV) by lra. pose proof (node_3 _ _ _ HS O ltac:(lia)). nra.
  - rewrite (piece_line v V j t HV Hj) by lra.
    enough (U t <= (slope v j + e) * t + at_zero v j) by lra.
    apply (below_line u U _ _ j (S j)); [assumption | lia | | lra].
    intros m Hm; unfold beyond; destruct le_dec; [|lia]. pose proof (node_3 _ _ _ HS m ltac:(lia)). pose proof (x_positive m).
    assert (u m * x m <= (v m + e) * x m) by (apply Rmult_le_compat_r; lra). pose proof (piece_end v j m ltac:(lia)). lra.
  - rewrite (above _ _ HU), (above _ _ HV) by lra. pose proof (node_3 _ _ _ HS n ltac:(lia)). pose proof (x_positive n).
    assert (u n * x n <= (v n + e) * x n) by (apply Rmult_le_compat_r; lra). nra.
Qed.

(** (1) below the nodes: U with one close call less is below a line through (0, 0), up to a factor r above the lowest node. *)
Lemma step_1_below t : 0 < t < x 0 -> U (g ^ k * t) <= (v O + e) * (g ^ k * t) + 0.
Proof.
  intros Ht. pose proof r_least'. assert (0 < g ^ k * t) by (apply Rmult_lt_0_compat; lra).
  destruct (Rle_dec (g ^ k * t) (x 0)) as [L' | L'].
  - rewrite (below _ _ HU) by lra. pose proof (node_below _ _ _ HS O ltac:(lia)).
    rewrite Rplus_0_r; apply Rmult_le_compat_r; lra.
  - apply (below_line u U _ _ 0 k); [assumption | lia | |].
    + intros m Hm; unfold beyond; destruct le_dec; [|lia]. pose proof (node_below _ _ _ HS m ltac:(lia)).
      pose proof (x_positive m). rewrite Rplus_0_r; apply Rmult_le_compat_r; lra.
    + split; [lra|]. pose proof (x_jump 0) as J; simpl in J. rewrite <- J. apply Rmult_le_compat_l; lra.
Qed.

Lemma step_1_between j t : (j < n)%nat -> x j <= t <= x (S j) ->
  U (g ^ k * t) <= (slope v j + e) * (g ^ k * t) + at_zero v j.
Proof.
  intros Hj Lj. pose proof (fails_least _ _ _ HS) as He. pose proof r_least' as Hr.
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
  intros Ht D. pose proof (fails_least _ _ _ HS) as He. pose proof r_least' as Hr.
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
  intros Hj Hi. pose proof r_least' as Hr. pose proof (node_2 _ _ _ HS j i Hj Hi) as N. pose proof (x_positive i).
  pose proof (piece_end v j i Hi) as P. apply Rmult_le_compat_r with (r := x i) in N; [|lra].
  apply Rmult_le_reg_l with (g ^ k); [lra|].
  replace (g ^ k * (u (i - k)%nat * (x i / g ^ k))) with (u (i - k)%nat * x i) by (field; lra).
  replace (g ^ k * ((slope v j + e) * (x i / g ^ k) + at_zero v j))
    with ((slope v j + e) * x i + g ^ k * at_zero v j) by (field; lra).
  assert (g ^ k * (v i * x i) = g ^ k * (slope v j * x i + at_zero v j)) by (rewrite P; reflexivity). lra.
Qed.

Lemma step_2_between j s : (j < n)%nat -> x j <= g ^ k * s <= x (S j) -> 0 < s -> U s <= (slope v j + e) * s + at_zero v j.
Proof.
  intros Hj Lj Hs. pose proof r_least' as Hr. pose proof (step_2_end j) as N.
  assert (Down : forall c, g ^ k * s <= g ^ k * c -> s <= c) by (intros; apply Rmult_le_reg_l with (g ^ k); lra).
  assert (Up : forall c, g ^ k * c <= g ^ k * s -> c <= s) by (intros; apply Rmult_le_reg_l with (g ^ k); lra).
  destruct (le_lt_dec k j) as [Lk | Lk].
  - apply (below_line u U _ _ (j - k) (S j - k)); [assumption | lia | |].
    + intros m Hm. assert (exists i, (i = j \/ i = S j) /\ m = (i - k)%nat /\ (k <= i)%nat) as (i & Hi & -> & Ki).
      { assert (m = j - k \/ m = S j - k)%nat as [-> | ->] by lia; [exists j | exists (S j)]; repeat split; auto; lia. }
      unfold beyond; destruct le_dec; [|lia]. replace (x (i - k)) with (x i / g ^ k); [apply N; auto|].
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
  intros L Hs. pose proof (fails_least _ _ _ HS) as He. pose proof r_least' as Hr.
  destruct (Rle_dec s (x n)) as [Ln | Ln].
  - apply (below_line u U _ _ (n - k) n); [assumption | lia | |].
    + intros m Hm; unfold beyond; destruct le_dec; [|lia]. pose proof (node_above _ _ _ HS m ltac:(lia)) as N.
      pose proof (x_positive m). apply Rmult_le_compat_r with (r := x m) in N; [|lra].
      replace ((1 - v n) * g ^ (n - m) * x m) with ((1 - v n) * x n) in N; [lra|].
      replace n with (m + (n - m))%nat at 2 by lia. unfold x; rewrite pow_add; ring.
    + split; [|assumption]. apply Rmult_le_reg_l with (g ^ k); [lra|].
      rewrite x_jump. replace (n - k + k)%nat with n by lia. assumption.
  - rewrite (above _ _ HU) by lra. pose proof highest. assert (e * x n <= e * s) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma step_2 t l : 0 < t -> derivable_pt_lim V t l -> g ^ k * U (t / g ^ k) <= g ^ k * V t - (g ^ k - 1) * t * l + e * t.
Proof.
  intros Ht D. pose proof r_least' as Hr.
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

End Step.

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
    rewrite (path_between u n j t Hj Ht); unfold at_zero; ring.
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
  pose proof r_least' as Hr. split.
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
  unfold beyond; destruct le_dec; [ring | lia].
Qed.

End Functions.
End Nodes.
