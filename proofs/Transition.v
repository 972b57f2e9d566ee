(** Theorem 4 with its logarithm: tau + 1 steps take the first piece of phi, all others its second one.

    The first piece counts at step i while y^i <= Q, where y = e^eps, x = 1 - R and

      Q = (y - 1 + 2 delta) / ((x (y - 1) + delta) (y + 1)).

    The least i with Q <= y^i is ceil (log Q / eps), or 0 where that is below 0. The paper's tau is this ceiling less one: its
    logarithm has one more factor y below. So tau is taken for -1 where it is below. At Q = y^i the two pieces agree.

    In the code `ApproxDP.transition` is tau (never below -1), and `transition + 1` is [initial]: the least n with Q <= y^n. *)

From Coq Require Import Reals Lra Lia Psatz ZArith.
From Duotone Require Import Step Graph Homogeneous Line ClosedForm.
Open Scope R_scope.

Definition ceiling x := (- Int_part (- x))%Z.

Lemma ceiling_least x z : (ceiling x <= z)%Z <-> x <= IZR z.
Proof.
  unfold ceiling; destruct (base_Int_part (- x)) as [A B]. split; intros H.
  - apply IZR_le in H; rewrite opp_IZR in H; lra.
  - enough (- z < Int_part (- x) + 1)%Z by lia. apply lt_IZR. rewrite plus_IZR, opp_IZR; lra.
Qed.

Lemma ln_least a b : 0 < a -> 0 < b -> (ln a <= ln b <-> a <= b).
Proof.
  intros Ha Hb; split; intros H.
  - apply Rnot_lt_le; intros L; apply ln_increasing in L; lra.
  - destruct H as [L | ->]; [left; apply ln_increasing; assumption | right; reflexivity].
Qed.

(** A ceiling of a logarithm to base y is at most n - m, without a logarithm. *)
Lemma log_least y z m n : 1 < y -> 0 < z ->
  ((ceiling (1 / ln y * ln z) <= Z.of_nat n - Z.of_nat m)%Z <-> z * y ^ m <= y ^ n).
Proof.
  intros Hy Hz; assert (Y : 0 < ln y) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (0 < y ^ m) by (apply pow_lt; lra). assert (0 < y ^ n) by (apply pow_lt; lra).
  assert (0 < z * y ^ m) by nra.
  rewrite ceiling_least, minus_IZR, <- !INR_IZR_INZ, <- (ln_least (z * y ^ m)), ln_mult, !ln_pow by lra.
  assert (1 / ln y * ln z * ln y = ln z) by (field; lra).
  split; intros; [nra|]. apply Rmult_le_reg_r with (ln y); lra.
Qed.

Section Transition.
Variables (P : privacy) (r : R).
Notation y := (ratio P).
Notation d := (delta P).

(** Definition 10, with eps = ln y. *)
Definition tau : Z :=
  if Req_EM_T y 1 then (-1)%Z
  else ceiling (1 / ln y * ln ((y + 2 * d - 1) / ((1 - r) * (y ^ 3 - y) + d * (y ^ 2 + y)))).

(** How many steps take the first piece. *)
Definition initial : nat := Z.to_nat (Z.max tau (-1) + 1).

Hypothesis Hr : probability r.

(** Not R = 1 with delta = 0, where the logarithm is infinite. *)
Hypothesis finite : r <> 1 \/ d <> 0.

(** The argument of `log_ceiling` in `ApproxDP.transition`. *)
Definition threshold := (y - 1 + 2 * d) / (((1 - r) * (y - 1) + d) * (y + 1)).

Lemma below_positive : 1 < y -> 0 < (1 - r) * (y - 1) + d.
Proof. of_privacy P; intros; destruct Hr, finite; nra. Qed.

Lemma threshold_positive : 1 < y -> 0 < threshold.
Proof.
  of_privacy P; intros; pose proof (below_positive H). unfold threshold; apply Rdiv_lt_0_compat; nra.
Qed.

Lemma threshold_least z : 1 < y -> (threshold <= z <-> y - 1 + 2 * d <= z * (((1 - r) * (y - 1) + d) * (y + 1))).
Proof.
  intros Hy; pose proof (below_positive Hy). set (q := _ * (y + 1)). assert (0 < q) by (unfold q; nra).
  assert (E : threshold * q = y - 1 + 2 * d) by (unfold threshold, q; field; split; lra).
  split; intros; nra.
Qed.

(** The pieces change where y^i passes Q. *)
Lemma piece i : 1 < y ->
  ((1 - ini P r i) * (1 + y) + d - 1) * (y - 1) = y ^ i * (((1 - r) * (y - 1) + d) * (y + 1)) - (y - 1 + 2 * d).
Proof. intros; unfold ini; field; lra. Qed.

Lemma early_iff i : 1 < y -> (early P (1 - ini P r i) <-> y ^ i * (((1 - r) * (y - 1) + d) * (y + 1)) <= y - 1 + 2 * d).
Proof. intros Hy; pose proof (piece i Hy). unfold early; split; intros; nra. Qed.

Lemma late_iff i : 1 < y -> (late P (1 - ini P r i) <-> threshold <= y ^ i).
Proof.
  intros Hy; pose proof (piece i Hy). rewrite threshold_least by exact Hy. unfold late; split; intros L; [|right]; nra.
Qed.

(** tau <= n - m, without a logarithm. *)
Lemma tau_least m n : 1 < y -> ((tau <= Z.of_nat n - Z.of_nat m)%Z <-> threshold * y ^ m <= y * y ^ n).
Proof.
  intros Hy; pose proof (threshold_positive Hy). pose proof (power_positive P n). pose proof (power_positive P m).
  unfold tau; destruct Req_EM_T; [lra|]. pose proof (below_positive Hy).
  replace ((y + 2 * d - 1) / _) with (threshold * / y) by (unfold threshold; field; repeat split; nra).
  rewrite log_least; [|lra | apply Rmult_lt_0_compat; [lra | apply Rinv_0_lt_compat; lra]].
  replace (threshold * / y * y ^ m) with (threshold * y ^ m * / y) by ring.
  assert (threshold * y ^ m * / y * y = threshold * y ^ m) by (field; lra).
  split; intros; [nra|]. apply Rmult_le_reg_r with y; lra.
Qed.

(** The ceiling of the logarithm: what `log_ceiling` computes. *)
Theorem initial_least n : 1 < y -> ((initial <= n)%nat <-> threshold <= y ^ n).
Proof.
  intros Hy; assert (E : (initial <= n)%nat <-> (tau <= Z.of_nat n - Z.of_nat 1)%Z) by (unfold initial; lia).
  rewrite E, tau_least by exact Hy. rewrite pow_1. split; intros; nra.
Qed.

Theorem initial_changes : changes P r initial.
Proof.
  of_privacy P; destruct (Req_EM_T y 1) as [E | N].
  - unfold initial, tau; destruct Req_EM_T; [|contradiction]. simpl. split; [left; reflexivity | split; [lia | left; exact E]].
  - assert (Hy : 1 < y) by lra. split; [right; exact Hy | split].
    + intros i L; apply early_iff; [exact Hy|]. apply Nat.lt_nge in L. rewrite initial_least, threshold_least in L by exact Hy.
      apply Rlt_le, Rnot_le_lt, L.
    + apply late_iff; [exact Hy|]. apply initial_least; auto.
Qed.

(** Theorem 4, for phi iterated. *)
Theorem theorem_4_steps i :
  1 - steps P i (1 - r) = if Nat.leb i initial then Rmax 0 (ini P r i) else Rmax 0 (ter P (ini P r initial) (i - initial)).
Proof. apply closed_form; [exact Hr | exact initial_changes]. Qed.

(** `iterated_step.iterates` and `ApproxDP._iterate_exact`: f = min (n, tau + 1) first steps, j = n - f second ones. *)
Theorem code_closed_form n : 1 < y ->
  let f := Nat.min n initial in
  let s := grown P (1 - r) f in
  steps P n (1 - r) = if Nat.leb n initial then s else 1 - Rmax 0 (shrunk P s (n - f)).
Proof.
  intros Hy f s; pose proof (theorem_4_steps n) as T. unfold s, f.
  rewrite shrunk_is_ter, grown_is_ini by exact Hy. replace (1 - (1 - r)) with r by ring.
  destruct (Nat.leb_spec n initial) as [L | L].
  - rewrite Nat.min_l by exact L. enough (1 - steps P n (1 - r) = ini P r n) by lra.
    destruct initial_changes as (_ & E & _). apply (early_phase P r initial); auto.
  - rewrite Nat.min_r by lia. replace (1 - (1 - ini P r initial)) with (ini P r initial) by ring. lra.
Qed.

End Transition.

(** Definition 10 as the paper writes it. *)
Lemma tau_of_epsilon eps d r (He : 0 <= eps) (Hd : 0 <= d) (Hd' : d < 1) : 0 < eps ->
  tau (approx_dp eps d He Hd Hd') r =
  ceiling (1 / eps * ln ((exp eps + 2 * d - 1) / ((1 - r) * (exp (3 * eps) - exp eps) + d * (exp (2 * eps) + exp eps)))).
Proof.
  intros Hp; unfold tau; simpl. destruct Req_EM_T as [E | _].
  - exfalso; pose proof (exp_increasing 0 eps Hp) as I. rewrite exp_0 in I; lra.
  - rewrite ln_exp. replace (3 * eps) with (eps + (eps + eps)) by ring. replace (2 * eps) with (eps + eps) by ring.
    rewrite !exp_plus, !Rmult_1_r. reflexivity.
Qed.

(** ... and the powers. *)
Lemma power_of_epsilon eps i : exp eps ^ i = exp (INR i * eps).
Proof.
  induction i; [simpl; rewrite Rmult_0_l, exp_0; reflexivity|].
  rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus, <- IHi; simpl; ring.
Qed.

Section Theorems.
Variables (P : privacy) (r : R).
Hypothesis Hr : probability r.
Hypothesis finite : r <> 1 \/ delta P <> 0.
Variable Hx : probability (1 - r).

(** Theorem 5 (Theorems 3 and 4): a blue dataset i edges from the blue boundary, on any graph, where the boundary says no with
    probability r. [1 - ...] is the probability of red, R_d. *)
Theorem theorem_5 (G : graph) (a : G) i : blue a = true -> away blue_boundary i a ->
  1 - homogeneous_optimum P G (1 - r) Hx a =
  if Nat.leb i (initial P r) then Rmax 0 (ini P r i) else Rmax 0 (ter P (ini P r (initial P r)) (i - initial P r)).
Proof. intros C A; rewrite (blue_truth P G (1 - r) Hx i a C A); apply theorem_4_steps; assumption. Qed.

(** Theorem 4: dataset nB - i of the (nB, nR)-line. *)
Theorem theorem_4 nB nR i : (i < nB)%nat -> (1 <= nR)%nat ->
  1 - homogeneous_optimum P (line nB nR) (1 - r) Hx (nB - i)%nat =
  if Nat.leb i (initial P r) then Rmax 0 (ini P r i) else Rmax 0 (ter P (ini P r (initial P r)) (i - initial P r)).
Proof.
  intros Hi HR; apply theorem_5; [apply line_blue; lia|].
  replace i with (nB - (nB - i))%nat at 1 by lia. apply line_away_blue; lia.
Qed.

End Theorems.

(** The case left out: the boundary always lies, delta = 0, and so does every dataset that reaches it. *)
Theorem theorem_5_infinite P (Hx : probability (1 - 1)) (G : graph) (a : G) i : delta P = 0 ->
  blue a = true -> away blue_boundary i a -> 1 - homogeneous_optimum P G (1 - 1) Hx a = 1 /\ ini P 1 i = 1.
Proof. intros D C A; rewrite (blue_truth P G (1 - 1) Hx i a C A); apply never_changes, D. Qed.

(** The red side, by duality: a red dataset i edges from the red boundary starts from its wrong answer there, 1 - phi r. *)
Theorem theorem_5_red P r (Hr : probability r) (Hx : probability (1 - r)) (G : graph) (a : G) i :
  let w := 1 - step P r in w <> 1 \/ delta P <> 0 -> blue a = false -> away red_boundary i a ->
  homogeneous_optimum P G (1 - r) Hx a =
  if Nat.leb i (initial P w) then Rmax 0 (ini P w i) else Rmax 0 (ter P (ini P w (initial P w)) (i - initial P w)).
Proof.
  intros w F C A; pose proof (red_truth P G (1 - r) Hx i a C A) as T.
  replace (1 - (1 - r)) with r in T by ring.
  assert (Hw : probability w) by (destruct (step_probability P r Hr); split; unfold w; lra).
  rewrite <- theorem_4_steps by assumption. unfold w; replace (1 - (1 - step P r)) with (step P r) by ring. lra.
Qed.
