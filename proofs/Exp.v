(** The exponential, from its series: above its tangent, rising, and taking every positive value.

    The standard library has these facts by the mean value theorem, which rests on excluded middle; the series does not. *)

From Coq Require Import Reals Lra Lia.
Open Scope R_scope.

Lemma exp_series x : infinite_sum (fun i => / INR (fact i) * x ^ i) (exp x).
Proof. unfold exp; destruct (exist_exp x); assumption. Qed.

Lemma fact_least i : 1 <= INR (fact i).
Proof. replace 1 with (INR 1) by reflexivity. apply le_INR. pose proof (lt_O_fact i). lia. Qed.

Lemma exp_above_right x : 0 <= x -> 1 + x <= exp x.
Proof.
  intros H. replace (1 + x) with (sum_f_R0 (fun i => / INR (fact i) * x ^ i) 1) by (simpl; field).
  apply sum_incr; [apply exp_series|]. intros i; apply Rmult_le_pos; [|apply pow_le, H].
  left; apply Rinv_0_lt_compat. pose proof (fact_least i); lra.
Qed.

(** Below the geometric series. *)
Lemma exp_most t : 0 <= t < 1 -> exp t <= / (1 - t).
Proof.
  intros H. apply Rnot_lt_le; intros C. destruct (exp_series t (exp t - / (1 - t))) as [N HN]; [lra|].
  specialize (HN N (le_n N)). unfold R_dist in HN. apply Rabs_def2 in HN.
  enough (sum_f_R0 (fun i => / INR (fact i) * t ^ i) N <= / (1 - t)) by lra.
  apply Rle_trans with (sum_f_R0 (fun i => t ^ i) N).
  - apply sum_Rle; intros i _. pose proof (fact_least i). pose proof (pow_le t i (proj1 H)).
    rewrite <- (Rmult_1_l (t ^ i)) at 2. apply Rmult_le_compat_r; [assumption|].
    rewrite <- Rinv_1. apply Rinv_le_contravar; lra.
  - rewrite tech3 by lra. unfold Rdiv. rewrite <- (Rmult_1_l (/ (1 - t))) at 2. apply Rmult_le_compat_r.
    + left; apply Rinv_0_lt_compat; lra.
    + pose proof (pow_le t (S N) (proj1 H)). lra.
Qed.

Lemma exp_above x : 1 + x <= exp x.
Proof.
  destruct (Rle_dec 0 x) as [H | H]; [apply exp_above_right, H|]. pose proof (exp_pos x).
  destruct (Rle_dec x (-1)) as [L | L]; [lra|]. pose proof (exp_most (- x) ltac:(lra)) as M. rewrite exp_Ropp in M.
  rewrite <- (Rinv_inv (exp x)), <- (Rinv_inv (1 + x)). apply Rinv_le_contravar.
  - apply Rinv_0_lt_compat; assumption.
  - replace (1 + x) with (1 - - x) by ring. assumption.
Qed.

Lemma exp_rises_strictly x x' : x < x' -> exp x < exp x'.
Proof.
  intros H. replace (exp x') with (exp x * exp (x' - x)) by (rewrite <- exp_plus; f_equal; ring).
  pose proof (exp_above (x' - x)). rewrite <- (Rmult_1_r (exp x)) at 1. apply Rmult_lt_compat_l; [apply exp_pos | lra].
Qed.

Lemma exp_rises x x' : x <= x' -> exp x <= exp x'.
Proof. intros [H | ->]; [left; apply exp_rises_strictly, H | lra]. Qed.

Lemma exp_le x x' : exp x <= exp x' -> x <= x'.
Proof. intros H; apply Rnot_lt_le; intros C; apply exp_rises_strictly in C; lra. Qed.

Lemma exp_once x x' : exp x = exp x' -> x = x'.
Proof. intros H; apply Rle_antisym; apply exp_le; lra. Qed.

Lemma exp_at_least_one x : 0 <= x -> 1 <= exp x.
Proof. intros H; pose proof (exp_above x); lra. Qed.

Lemma exp_below x : 0 < x -> exp (- x) < 1.
Proof. intros H; rewrite <- exp_0; apply exp_rises_strictly; lra. Qed.

(** Every positive number has a logarithm. *)
Lemma logarithm z : 0 < z -> exists x, exp x = z.
Proof.
  assert (L : forall z, 1 <= z -> exists x, exp x = z).
  { intros w Hw. destruct (IVT_cor (fun x => exp x - w) 0 w) as (x & _ & E); [| lra | | exists x; lra].
    - intros x. apply derivable_continuous_pt. exists (exp x - 0).
      apply (derivable_pt_lim_minus exp (fun _ => w)); [apply derivable_pt_lim_exp | apply derivable_pt_lim_const].
    - rewrite exp_0. pose proof (exp_above w). assert (0 <= (w - 1) * (exp w - w)) by (apply Rmult_le_pos; lra). lra. }
  intros H; destruct (Rle_dec 1 z) as [G | G]; [apply L, G|].
  destruct (L (/ z)) as [x E]; [rewrite <- Rinv_1; apply Rinv_le_contravar; lra|].
  exists (- x). rewrite exp_Ropp, E. apply Rinv_inv.
Qed.

(** The exponential is convex: from 0 to rho * x it is below its chord at x. *)
Lemma exp_chord rho x : 1 <= rho -> rho * (exp x - 1) <= exp (rho * x) - 1.
Proof.
  intros H. pose proof (exp_pos x). pose proof (exp_above ((rho - 1) * x)) as A. pose proof (exp_above (- x)) as B.
  assert (E : exp (rho * x) = exp x * exp ((rho - 1) * x)) by (rewrite <- exp_plus; f_equal; ring).
  assert (F : exp x * exp (- x) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0). rewrite E.
  assert (exp x * (1 + (rho - 1) * x) <= exp x * exp ((rho - 1) * x)) by (apply Rmult_le_compat_l; lra).
  assert ((rho - 1) * (exp x * (1 + - x)) <= (rho - 1) * (exp x * exp (- x)))
    by (apply Rmult_le_compat_l; [lra|]; apply Rmult_le_compat_l; lra). rewrite F in *. lra.
Qed.
