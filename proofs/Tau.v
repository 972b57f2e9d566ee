(** The paper's transition parameter tau (Definition 10), and Theorems 4 and 5 with it.

    With Q as in Transition.v, the least n with Q <= y^n is ceil (log Q / eps), or 0 where that is below 0. The paper's tau is
    this ceiling less one, since its logarithm has one more factor y below: so tau + 1 steps are initial ones, and tau is taken
    for -1 where it is below. `ApproxDP.transition` is max (tau, -1).

    The standard library's logarithm rests on excluded middle (Classical_Prop.classic); Transition.v does without it. *)

From Coq Require Import Reals Lra Lia Psatz ZArith.
From Duotone Require Import Step Graph Homogeneous Line ClosedForm Transition.
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

Section Tau.
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
Hypothesis finite : r <> 1 \/ d <> 0.
Notation threshold := (threshold P r).

(** tau <= n - m, without a logarithm. *)
Lemma tau_least m n : 1 < y -> ((tau <= Z.of_nat n - Z.of_nat m)%Z <-> threshold * y ^ m <= y * y ^ n).
Proof.
  intros Hy; pose proof (threshold_positive P r Hr finite Hy). pose proof (power_positive P n). pose proof (power_positive P m).
  unfold tau; destruct Req_EM_T; [lra|]. pose proof (below_positive P r Hr finite Hy).
  replace ((y + 2 * d - 1) / _) with (threshold * / y) by (unfold Transition.threshold; field; repeat split; nra).
  rewrite log_least; [|lra | apply Rmult_lt_0_compat; [lra | apply Rinv_0_lt_compat; lra]].
  replace (threshold * / y * y ^ m) with (threshold * y ^ m * / y) by ring.
  assert (threshold * y ^ m * / y * y = threshold * y ^ m) by (field; lra).
  split; intros; [nra|]. apply Rmult_le_reg_r with y; lra.
Qed.

(** tau + 1, where tau is at least -1, is what the code counts. *)
Theorem initial_counts : first_steps P r initial.
Proof.
  of_privacy P; destruct (Req_EM_T y 1) as [E | N].
  - left; split; [exact E|]. unfold initial, tau; destruct Req_EM_T; [reflexivity | contradiction].
  - assert (Hy : 1 < y) by lra. right; split; [exact Hy|]. intros n.
    assert (K : (initial <= n)%nat <-> (tau <= Z.of_nat n - Z.of_nat 1)%Z) by (unfold initial; lia).
    rewrite K, tau_least by exact Hy. rewrite pow_1. split; intros; nra.
Qed.

Variable Hx : probability (1 - r).

(** Theorem 4: dataset nB - i of the (nB, nR)-line, with R_nB = r. *)
Theorem theorem_4 nB nR i : (i < nB)%nat -> (1 <= nR)%nat ->
  1 - homogeneous_optimum P (line nB nR) (1 - r) Hx (nB - i)%nat = closed P r initial i.
Proof.
  intros Hi HR; apply theorem_5_counted; [exact Hr | exact finite | exact initial_counts | apply line_blue; lia|].
  replace i with (nB - (nB - i))%nat at 1 by lia. apply line_away_blue; lia.
Qed.

(** Theorem 5: any blue dataset of any graph, i edges from the blue boundary. *)
Theorem theorem_5 (G : graph) (a : G) i : blue a = true -> away blue_boundary i a ->
  1 - homogeneous_optimum P G (1 - r) Hx a = closed P r initial i.
Proof. apply theorem_5_counted; [exact Hr | exact finite | exact initial_counts]. Qed.

End Tau.

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
