(** The checker's integers (`gains` in tools/check_certificate.py and its twin in the library; close-calls.md, "Rounding").

    Values at nodes are whole parts of 1 / one, one = 2^96. Everything is rounded so that no inequality looks better than it
    is, but for r, which is rounded up by less than one part and counts m + 1 times at most; so m + 1 parts more are paid. That
    rests on all values lying between 0 and [one], which the checker does not look at: its recurrences see to it
    (Recurrences.v). *)

From Coq Require Import Reals Lra Psatz List Lia Arith ZArith.
From Duotone Require Import Step Graph Clock Game CloseCalls Nodes.
Open Scope R_scope.

(** Python's a // b is Z's, and -(-a // b) is rounded up. *)
Definition up_div a b := (- (- a / b))%Z.

Lemma down_real a b : (0 < b)%Z -> IZR (a / b) * IZR b <= IZR a.
Proof. intros H; rewrite <- mult_IZR; apply IZR_le. pose proof (Z.mul_div_le a b H). lia. Qed.

Lemma up_real a b : (0 < b)%Z -> IZR a <= IZR (up_div a b) * IZR b.
Proof. intros H; rewrite <- mult_IZR; apply IZR_le; unfold up_div. pose proof (Z.mul_div_le (- a) b H). lia. Qed.

Lemma up_less a b : (0 < b)%Z -> IZR (up_div a b) * IZR b < IZR a + IZR b.
Proof.
  intros H; rewrite <- mult_IZR, <- plus_IZR; apply IZR_lt; unfold up_div.
  pose proof (Z.mul_succ_div_gt (- a) b H). lia.
Qed.

Lemma up_between a b c : (0 < b)%Z -> (0 <= a <= c * b)%Z -> (0 <= up_div a b <= c)%Z.
Proof.
  intros Hb Ha; unfold up_div. pose proof (Z.div_le_lower_bound (- a) b (- c) Hb ltac:(lia)).
  pose proof (Z.div_le_upper_bound (- a) b 0 Hb ltac:(lia)). lia.
Qed.

Section Gains.
Variables (m one : Z) (n k : nat) (lowest : R).
Hypothesis m_positive : (0 < m)%Z.
Hypothesis one_positive : (0 < one)%Z.
Hypothesis lowest_positive : 0 < lowest.
Hypothesis reach : (k <= n)%nat.

Definition r := up_div (one * (m + 1) ^ Z.of_nat k) (m ^ Z.of_nat k).
Definition more := (r - one)%Z.
Definition share (u : nat -> Z) j := IZR (u j) / IZR one.

(** A number times g^-i rounded down each time, and times g^i rounded up. *)
Fixpoint falling a i := match i with O => a | S i => (falling a i * m / (m + 1))%Z end.
Fixpoint rising a i := match i with O => a | S i => up_div (rising a i * (m + 1)) m end.

Definition above_nodes (u : nat -> Z) j := if le_dec j n then u j else (one - falling (one - u n) (j - n))%Z.
Definition slopes (v : nat -> Z) j := ((m + 1) * v (S j) - m * v j)%Z.

(** No inequality fails by more than e parts. *)
Record checked e (u v : nat -> Z) := {
  checked_0 : (0 <= e)%Z;
  checked_1 j i : (j < n)%nat -> i = j \/ i = S j -> (r * above_nodes u (i + k) - one * v i - more * slopes v j <= e * one)%Z;
  checked_2 j i : (j < n)%nat -> i = j \/ i = S j -> (one * u (i - k)%nat - r * v i + more * slopes v j <= e * one)%Z;
  checked_3 j : (j <= n)%nat -> (u j - v j <= e)%Z;
  checked_below j : (j <= k)%nat -> (u j - v O <= e)%Z;
  checked_above j : (j <= n <= j + k)%nat -> (rising (one - v n) (n - j) - (one - u j) <= e)%Z
}.

Notation G := (g (IZR m)).

Lemma G_falls a : a / G = a * IZR m / IZR (m + 1).
Proof. pose proof (IZR_lt _ _ m_positive). unfold g; rewrite plus_IZR; field; lra. Qed.

Lemma G_positive i : 0 < G ^ i.
Proof. apply pow_lt. pose proof (g_least (IZR m) (IZR_lt _ _ m_positive)). lra. Qed.

Lemma falling_real a i : IZR (falling a i) <= IZR a / G ^ i.
Proof.
  induction i as [|i IH]; simpl; [lra|]. pose proof (IZR_lt _ _ m_positive) as Hm.
  assert (Hm1 : 0 < IZR (m + 1)) by (rewrite plus_IZR; lra). pose proof (G_positive 1); simpl in *. pose proof (G_positive i).
  pose proof (down_real (falling a i * m) (m + 1) ltac:(lia)) as D. rewrite mult_IZR in D.
  apply Rmult_le_reg_r with (IZR (m + 1)); [assumption|]. eapply Rle_trans; [exact D|].
  replace (IZR a / (G * G ^ i) * IZR (m + 1)) with (IZR a / G ^ i * IZR m).
  - apply Rmult_le_compat_r; lra.
  - unfold g; rewrite plus_IZR; field; repeat split; try lra; apply pow_nonzero.
    all: fold (g (IZR m)) || idtac; pose proof (g_least (IZR m) Hm); unfold g in *; lra.
Qed.

Lemma rising_real a i : IZR a * G ^ i <= IZR (rising a i).
Proof.
  induction i as [|i IH]; simpl; [lra|]. pose proof (IZR_lt _ _ m_positive) as Hm.
  pose proof (up_real (rising a i * (m + 1)) m m_positive) as D. rewrite mult_IZR in D.
  apply Rmult_le_reg_r with (IZR m); [assumption|]. eapply Rle_trans; [|exact D].
  replace (IZR a * (G * G ^ i) * IZR m) with (IZR a * G ^ i * IZR (m + 1)) by (unfold g; rewrite plus_IZR; field; lra).
  apply Rmult_le_compat_r; [rewrite plus_IZR; lra | assumption].
Qed.

(** r is above the game's by less than one part. *)
Lemma r_real : 0 <= IZR r - G ^ k * IZR one < 1.
Proof.
  pose proof (IZR_lt _ _ m_positive) as Hm. assert (P : (0 < m ^ Z.of_nat k)%Z) by (apply Z.pow_pos_nonneg; lia).
  pose proof (IZR_lt _ _ P) as P'. assert (E : G ^ k * IZR one = IZR (one * (m + 1) ^ Z.of_nat k) / IZR (m ^ Z.of_nat k)).
  { rewrite mult_IZR, <- !pow_IZR, plus_IZR. replace G with ((IZR m + 1) / IZR m) by (unfold g; field; lra).
    unfold Rdiv; rewrite Rpow_mult_distr, pow_inv; ring. }
  pose proof (up_real (one * (m + 1) ^ Z.of_nat k) _ P) as A. pose proof (up_less (one * (m + 1) ^ Z.of_nat k) _ P) as B.
  fold r in A, B. rewrite E. set (c := IZR (one * (m + 1) ^ Z.of_nat k)) in *. set (d := IZR (m ^ Z.of_nat k)) in *.
  assert (F : c / d * d = c) by (field; lra). split.
  - enough (c / d <= IZR r) by lra. apply Rmult_le_reg_r with d; lra.
  - enough (IZR r < c / d + 1) by lra. apply Rmult_lt_reg_r with d; lra.
Qed.

Definition within_one (u : nat -> Z) := forall j, (j <= n)%nat -> (0 <= u j <= one)%Z.

Lemma share_real u j : within_one u -> (j <= n)%nat -> 0 <= share u j <= 1.
Proof.
  intros H Hj; destruct (H j Hj) as [A B]. apply IZR_le in A, B. pose proof (IZR_lt _ _ one_positive). unfold share.
  split; [apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]|]. apply Rmult_le_reg_r with (IZR one); [lra|].
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
Qed.

Lemma above_real u j : within_one u -> 0 <= beyond (IZR m) n (share u) j <= IZR (above_nodes u j) / IZR one.
Proof.
  intros H; unfold beyond, above_nodes; destruct le_dec as [L | L]; [pose proof (share_real u j H L); unfold share in *; lra|].
  pose proof (IZR_lt _ _ one_positive) as H1. pose proof (share_real u n H (le_n _)) as Hn.
  pose proof (G_positive (j - n)) as P. split.
  - assert (1 <= G ^ (j - n)) by (apply pow_R1_Rle; pose proof (g_least (IZR m) (IZR_lt _ _ m_positive)); lra).
    enough ((1 - share u n) / G ^ (j - n) <= 1) by lra. apply Rmult_le_reg_r with (G ^ (j - n)); [lra|].
    unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
  - pose proof (falling_real (one - u n) (j - n)) as F. rewrite minus_IZR in *. unfold share.
    apply Rmult_le_reg_r with (IZR one); [lra|].
    replace ((1 - (1 - IZR (u n) / IZR one) / G ^ (j - n)) * IZR one)
      with (IZR one - (IZR one - IZR (u n)) / G ^ (j - n)) by (field; lra).
    replace ((IZR one - IZR (falling (one - u n) (j - n))) / IZR one * IZR one)
      with (IZR one - IZR (falling (one - u n) (j - n))) by (field; lra). lra.
Qed.

Lemma slopes_real v j : within_one v -> (j < n)%nat ->
  slope (IZR m) (share v) j = IZR (slopes v j) / IZR one /\ (- m * one <= slopes v j <= (m + 1) * one)%Z.
Proof.
  intros H Hj; unfold slope, slopes, share; split.
  - pose proof (IZR_lt _ _ one_positive). rewrite minus_IZR, !mult_IZR, plus_IZR. field; lra.
  - pose proof (H j ltac:(lia)). pose proof (H (S j) ltac:(lia)). nia.
Qed.

(** What r was rounded up by, and r without it. *)
Definition theta := IZR r - G ^ k * IZR one.

Lemma without_theta : G ^ k = (IZR r - theta) / IZR one.
Proof. pose proof (IZR_lt _ _ one_positive). unfold theta; field; lra. Qed.

Lemma theta_costs d : d <= (IZR m + 1) * IZR one -> theta * d <= (IZR m + 1) * IZR one.
Proof.
  intros H. pose proof r_real as [T0 T1]; fold theta in T0, T1.
  pose proof (IZR_lt _ _ one_positive). pose proof (IZR_lt _ _ m_positive).
  assert (theta * d <= theta * ((IZR m + 1) * IZR one)) by (apply Rmult_le_compat_l; lra).
  assert (theta * ((IZR m + 1) * IZR one) <= 1 * ((IZR m + 1) * IZR one))
    by (apply Rmult_le_compat_r; [apply Rmult_le_pos|]; lra). lra.
Qed.

Lemma by_parts a b : a * IZR one <= b * IZR one -> a <= b.
Proof. pose proof (IZR_lt _ _ one_positive). intros; apply Rmult_le_reg_r with (IZR one); lra. Qed.

Section Step.
Variables (e : Z) (u v : nat -> Z).
Hypothesis Hu : within_one u.
Hypothesis Hv : within_one v.
Hypothesis C : checked e u v.

Lemma checked_node_1 j i : (j < n)%nat -> i = j \/ i = S j ->
  G ^ k * beyond (IZR m) n (share u) (i + k) <=
  share v i + (G ^ k - 1) * slope (IZR m) (share v) j + (IZR e + IZR m + 1) / IZR one.
Proof.
  intros Hj Hi. pose proof (IZR_lt _ _ one_positive) as H1. destruct (slopes_real v j Hv Hj) as [-> [_ Ls]].
  destruct (above_real u (i + k) Hu) as [B0 B1]. pose proof (IZR_le _ _ (checked_1 _ _ _ C j i Hj Hi)) as N. unfold more in N.
  rewrite !minus_IZR, !mult_IZR, minus_IZR in N. apply IZR_le in Ls; rewrite mult_IZR, plus_IZR in Ls.
  set (b := beyond _ _ _ _) in *. set (s := IZR (slopes v j)) in *. set (a := IZR (above_nodes u (i + k))) in *.
  assert (B1' : b * IZR one <= a) by (replace a with (a / IZR one * IZR one) by (field; lra); apply Rmult_le_compat_r; lra).
  assert (0 <= IZR r - theta) by (unfold theta; pose proof (Rmult_lt_0_compat _ _ (G_positive k) H1); lra).
  assert ((IZR r - theta) * (b * IZR one) <= (IZR r - theta) * a) by (apply Rmult_le_compat_l; lra).
  assert (0 <= b * IZR one) by (apply Rmult_le_pos; lra). pose proof (theta_costs (s - a) ltac:(lra)).
  apply by_parts, by_parts. rewrite without_theta. unfold share.
  replace ((IZR r - theta) / IZR one * b * IZR one * IZR one) with ((IZR r - theta) * (b * IZR one)) by (field; lra).
  match goal with |- _ <= ?x => replace x
    with (IZR (v i) * IZR one + (IZR r - theta - IZR one) * s + (IZR e + IZR m + 1) * IZR one) by (field; lra) end. lra.
Qed.

Lemma checked_node_2 j i : (j < n)%nat -> i = j \/ i = S j ->
  share u (i - k) <= G ^ k * share v i - (G ^ k - 1) * slope (IZR m) (share v) j + (IZR e + IZR m + 1) / IZR one.
Proof.
  intros Hj Hi. pose proof (IZR_lt _ _ one_positive) as H1. destruct (slopes_real v j Hv Hj) as [-> [Ls _]].
  pose proof (IZR_le _ _ (checked_2 _ _ _ C j i Hj Hi)) as N. unfold more in N.
  rewrite plus_IZR, !minus_IZR, !mult_IZR, minus_IZR in N. apply IZR_le in Ls; rewrite mult_IZR, opp_IZR in Ls.
  destruct (Hv i ltac:(lia)) as [_ V1]; apply IZR_le in V1. set (s := IZR (slopes v j)) in *.
  pose proof (theta_costs (IZR (v i) - s) ltac:(lra)). apply by_parts, by_parts. rewrite without_theta. unfold share.
  replace (IZR (u (i - k)%nat) / IZR one * IZR one * IZR one) with (IZR (u (i - k)%nat) * IZR one) by (field; lra).
  match goal with |- _ <= ?x => replace x
    with ((IZR r - theta) * IZR (v i) - (IZR r - theta - IZR one) * s + (IZR e + IZR m + 1) * IZR one) by (field; lra) end. lra.
Qed.

Lemma checked_plain a b : (a - b <= e)%Z -> IZR a / IZR one <= IZR b / IZR one + (IZR e + IZR m + 1) / IZR one.
Proof.
  intros N; apply IZR_le in N; rewrite minus_IZR in N. pose proof (IZR_lt _ _ one_positive). pose proof (IZR_lt _ _ m_positive).
  apply by_parts. replace (IZR a / IZR one * IZR one) with (IZR a) by (field; lra).
  match goal with |- _ <= ?x => replace x with (IZR b + (IZR e + IZR m + 1)) by (field; lra) end. lra.
Qed.

Lemma checked_node_above j : (j <= n <= j + k)%nat ->
  (1 - share v n) * G ^ (n - j) <= 1 - share u j + (IZR e + IZR m + 1) / IZR one.
Proof.
  intros Hj. pose proof (IZR_le _ _ (checked_above _ _ _ C j Hj)) as N. rewrite !minus_IZR in N.
  pose proof (IZR_lt _ _ one_positive). pose proof (IZR_lt _ _ m_positive).
  pose proof (rising_real (one - v n) (n - j)) as F. rewrite minus_IZR in F. apply by_parts. unfold share.
  replace ((1 - IZR (v n) / IZR one) * G ^ (n - j) * IZR one) with ((IZR one - IZR (v n)) * G ^ (n - j)) by (field; lra).
  match goal with |- _ <= ?x => replace x with (IZR one - IZR (u j) + (IZR e + IZR m + 1)) by (field; lra) end. lra.
Qed.

(** The inequalities of integers give those of the functions, with m + 1 parts more for what r was rounded up by. *)
Theorem checked_step : node_step (IZR m) n k (IZR (e + m + 1) / IZR one) (share u) (share v).
Proof.
  rewrite !plus_IZR. split; auto using checked_node_1, checked_node_2, checked_node_above.
  - pose proof (IZR_le _ _ (checked_0 _ _ _ C)). pose proof (IZR_lt _ _ one_positive). pose proof (IZR_lt _ _ m_positive).
    left; apply Rdiv_lt_0_compat; lra.
  - intros j Hj. apply checked_plain, (checked_3 _ _ _ C), Hj.
  - intros j Hj. apply checked_plain, (checked_below _ _ _ C), Hj.
Qed.

End Step.

(** The first function: (x - y)+, with y * one rounded down to [y_parts]. *)
Section First.
Variables (y : R) (y_parts : Z) (zero : nat).
Hypothesis y_least : 1 <= y.
Hypothesis y_above : IZR y_parts <= y * IZR one.
Hypothesis y_parts_least : (0 <= y_parts)%Z.
Hypothesis x_zero : x (IZR m) lowest zero = 1.

Definition first j := if le_dec zero j then Z.max 0 (one - falling y_parts (j - zero)) else 0%Z.

Lemma falling_least a i : (0 <= a)%Z -> (0 <= falling a i)%Z.
Proof. clear reach; intros H; induction i; simpl; [assumption | apply Z.div_pos; nia]. Qed.

Lemma first_within : within_one first.
Proof.
  clear reach; intros j _; unfold first; destruct le_dec; [|lia].
  pose proof (falling_least y_parts (j - zero) y_parts_least); lia.
Qed.

Lemma first_start j : 0 <= share first j /\ x (IZR m) lowest j - y <= share first j * x (IZR m) lowest j.
Proof.
  pose proof (IZR_lt _ _ one_positive) as H1. pose proof (IZR_lt _ _ m_positive) as Hm. unfold first, share.
  pose proof (x_positive (IZR m) lowest Hm lowest_positive j) as Hx. destruct le_dec as [L | L].
  - assert (A := IZR_le _ _ (Z.le_max_l 0 (one - falling y_parts (j - zero)))).
    assert (B := IZR_le _ _ (Z.le_max_r 0 (one - falling y_parts (j - zero)))). rewrite minus_IZR in B.
    set (z := IZR (Z.max _ _)) in *. split; [apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]|].
    assert (F := falling_real y_parts (j - zero)). pose proof (G_positive (j - zero)) as P.
    assert (E : x (IZR m) lowest j = G ^ (j - zero)).
    { rewrite <- (Rmult_1_l (G ^ _)), <- x_zero. unfold x. rewrite Rmult_assoc, <- pow_add. do 2 f_equal; lia. }
    rewrite E. apply Rmult_le_reg_r with (IZR one); [lra|].
    replace (z / IZR one * G ^ (j - zero) * IZR one) with (z * G ^ (j - zero)) by (field; lra).
    apply Rmult_le_compat_r with (r := G ^ (j - zero)) in F; [|lra].
    replace (IZR y_parts / G ^ (j - zero) * G ^ (j - zero)) with (IZR y_parts) in F by (field; lra).
    apply Rmult_le_compat_r with (r := G ^ (j - zero)) in B; lra.
  - pose proof (x_monotone (IZR m) lowest Hm lowest_positive j zero ltac:(lia)). unfold Rdiv; rewrite !Rmult_0_l. lra.
Qed.

End First.

End Gains.
