(** Every integer that a check computes is a real number, rounded to parts of ONE: down where the table is, up where it bounds
    everybody. So what a check compares can be said without integers, and LineComplete.v and GraphComplete.v say it so. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz.
From Duotone Require Import Step Table LineCheck LineCertificate GraphCheck Balanced.
Open Scope R_scope.

Definition rounded_down one x t := part one t <= x < part one (t + 1).
Definition rounded_up one x t := part one (t - 1) < x <= part one t.

Section Rounding.
Variable one : Z.
Hypothesis one_positive : (0 < one)%Z.

Let One : 0 < IZR one.
Proof. apply IZR_lt; assumption. Qed.

Lemma part_lt a b : (a < b)%Z <-> part one a < part one b.
Proof.
  pose proof (part_le one one_positive b a) as L.
  split; intros; [apply Rnot_le_lt | apply Z.nle_gt]; intros K; apply L in K; lra || lia.
Qed.

Lemma part_add a b : part one (a + b) = part one a + part one b.
Proof. unfold part; rewrite plus_IZR; field; lra. Qed.

Lemma part_one : part one one = 1.
Proof. unfold part; field; lra. Qed.

Lemma part_0 : part one 0 = 0.
Proof. unfold part, Rdiv; apply Rmult_0_l. Qed.

(** There is one such integer. *)
Lemma down_once x s t : rounded_down one x s -> rounded_down one x t -> s = t.
Proof.
  intros [A B] [C D]. assert (s < t + 1)%Z by (apply part_lt; lra). assert (t < s + 1)%Z by (apply part_lt; lra). lia.
Qed.

Lemma up_once x s t : rounded_up one x s -> rounded_up one x t -> s = t.
Proof.
  intros [A B] [C D]. assert (s - 1 < t)%Z by (apply part_lt; lra). assert (t - 1 < s)%Z by (apply part_lt; lra). lia.
Qed.

Lemma down_iff x s t : rounded_down one x s -> (t = s <-> rounded_down one x t).
Proof. intros H; split; [intros ->; exact H | intros K; eapply down_once; eassumption]. Qed.

(** A probability is rounded to 0 ... ONE. *)
Lemma down_range x t : probability x -> rounded_down one x t -> (0 <= t <= one)%Z.
Proof.
  intros [? ?] [A B]. assert (0 < t + 1)%Z by (apply part_lt; rewrite part_0; lra).
  assert (t <= one)%Z by (apply (part_le one one_positive); rewrite part_one; lra). lia.
Qed.

Lemma up_range x t : probability x -> rounded_up one x t -> (0 <= t <= one)%Z.
Proof.
  intros [? ?] [A B]. assert (t - 1 < one)%Z by (apply part_lt; rewrite part_one; lra).
  assert (0 <= t)%Z by (apply (part_le one one_positive); rewrite part_0; lra). lia.
Qed.

(** Division rounds down, and [up] up. *)
Lemma down_quotient x n k : (0 < k)%Z -> x * IZR one * IZR k = IZR n -> rounded_down one x (n / k).
Proof.
  intros K E. pose proof (Z.mul_div_le n k K) as A. pose proof (Z.mul_succ_div_gt n k K) as B.
  apply IZR_le in A. apply IZR_lt in B, K. rewrite mult_IZR, <- E in A. rewrite <- Z.add_1_r, mult_IZR, <- E in B.
  unfold rounded_down, part. set (f := IZR (n / k)) in *. set (g := IZR (n / k + 1)) in *.
  assert (F : f / IZR one * (IZR one * IZR k) = IZR k * f) by (field; lra).
  assert (G : g / IZR one * (IZR one * IZR k) = IZR k * g) by (field; lra). assert (0 < IZR one * IZR k) by nra.
  split; [apply Rmult_le_reg_r with (IZR one * IZR k) | apply Rmult_lt_reg_r with (IZR one * IZR k)]; lra.
Qed.

Lemma up_of_down x t : rounded_down one (- x) t -> rounded_up one x (- t).
Proof.
  unfold rounded_down, rounded_up. replace (- t - 1)%Z with (- (t + 1))%Z by lia.
  assert (M : forall s, part one (- s) = - part one s) by (intros s; unfold part; rewrite opp_IZR; field; lra). rewrite !M. lra.
Qed.

Lemma up_quotient x n k : (0 < k)%Z -> x * IZR one * IZR k = IZR n -> rounded_up one x (up n k).
Proof. intros K E. apply up_of_down, down_quotient; [exact K|]. rewrite opp_IZR, <- E. ring. Qed.

Lemma down_least x x' s t : rounded_down one x s -> rounded_down one x' t -> rounded_down one (Rmin x x') (Z.min s t).
Proof.
  intros [A B] [C D]. unfold Rmin; destruct Rle_dec; destruct (Z.min_spec s t) as [[L ->] | [L ->]]; split; try assumption;
    apply part_lt in L || apply (part_le one one_positive) in L; try lra;
    pose proof (part_add s 1); pose proof (part_add t 1); lra.
Qed.

Lemma up_least_of x x' s t : rounded_up one x s -> rounded_up one x' t -> rounded_up one (Rmin x x') (Z.min s t).
Proof.
  intros [A B] [C D]. unfold Rmin; destruct Rle_dec; destruct (Z.min_spec s t) as [[L ->] | [L ->]]; split; try assumption;
    apply part_lt in L || apply (part_le one one_positive) in L; try lra;
    change (s - 1)%Z with (s + -1)%Z in *; change (t - 1)%Z with (t + -1)%Z in *; rewrite ?part_add in *; lra.
Qed.

Lemma down_beyond x t : rounded_down one x t -> rounded_down one (1 + x) (one + t).
Proof. intros [A B]. split; rewrite ?part_add, part_one in *; lra. Qed.

Lemma up_before x t : rounded_down one x t -> rounded_up one (1 - x) (one - t).
Proof.
  intros H. replace (one - t)%Z with (- (- one + t))%Z by lia. apply up_of_down. replace (- (1 - x)) with (- (1) + x) by ring.
  destruct H as [A B]. assert (M : part one (- one) = -1) by (unfold part; rewrite opp_IZR; field; lra).
  split; rewrite ?part_add, M in *; lra.
Qed.

Lemma down_one : rounded_down one 1 one.
Proof. pose proof (proj1 (part_lt one (one + 1)) ltac:(lia)). split; rewrite part_one in *; lra. Qed.

Lemma up_one : rounded_up one 1 one.
Proof. pose proof (proj1 (part_lt (one - 1) one) ltac:(lia)). split; rewrite part_one in *; lra. Qed.

(** ** Values that are asked for *)

Lemma floor_is m : rounded_down one (Q2R m) (floor_of one m).
Proof. apply down_quotient; [lia|]. rewrite mult_IZR, <- Q2R_parts. ring. Qed.

Lemma ceiling_of_is m : rounded_up one (Q2R m) (ceiling_of one m).
Proof. apply up_quotient; [lia|]. rewrite mult_IZR, <- Q2R_parts. ring. Qed.

Lemma value_iff m : ((0 <=? Qnum m) && (Qnum m <=? Zpos (Qden m)))%bool%Z = true <-> probability (Q2R m).
Proof.
  rewrite andb_true_iff, !Z.leb_le. pose proof (Q2R_parts m) as E. assert (D : 0 < IZR (Zpos (Qden m))) by (apply IZR_lt; lia).
  unfold probability. split; intros [A B]; split.
  - apply IZR_le in A. nra.
  - apply IZR_le in B. nra.
  - apply le_IZR. nra.
  - apply le_IZR. nra.
Qed.

(** ** Steps *)

Section Steps.
Variables (y d : Q) (P : privacy).
Hypotheses (ratio_is : ratio P = Q2R y) (delta_is : delta P = Q2R d).

Let denominators : 0 < IZR (Zpos (Qden y)) /\ 0 < IZR (Zpos (Qden d)) /\ 0 < IZR (Qnum y).
Proof.
  of_privacy P. pose proof (Q2R_parts y) as E. rewrite <- ratio_is in E.
  assert (0 < IZR (Zpos (Qden y))) by (apply IZR_lt; lia). assert (0 < IZR (Zpos (Qden d))) by (apply IZR_lt; lia). nra.
Qed.

(** [tight]: the step, rounded down. *)
Theorem tight_down t q : (0 <= t <= one)%Z -> (0 <= q <= one)%Z ->
  (tight one (allowed one y d) t q = true <-> rounded_down one (step P (part one q)) t).
Proof.
  intros Ht Hq. rewrite (tight_iff one y d one_positive P) by assumption. split; intros [A B]; (split; [exact A|]).
  - apply Rnot_le_lt; intros C. assert (part one (t + 1) <= 1) by (eapply Rle_trans; [exact C | apply step_most]).
    specialize (B (t + 1)%Z). rewrite (part_le one one_positive), part_one in B. specialize (B ltac:(lra) C). lia.
  - intros s _ C. assert (s < t + 1)%Z by (apply part_lt; lra). lia.
Qed.

(** [step_down]: the same, computed. *)
Theorem step_down_is t : rounded_down one (step P (part one t)) (step_down one y d t).
Proof.
  destruct denominators as (Dy & Dd & Ny). pose proof (Q2R_parts y) as Ey. pose proof (Q2R_parts d) as Ed.
  rewrite <- ratio_is in Ey. rewrite <- delta_is in Ed. of_privacy P.
  assert (T : part one t * IZR one = IZR t) by (unfold part; field; lra).
  change (step P) with (phi P); unfold phi, step_down. apply down_least; [apply down_one|]. apply down_least.
  - apply down_quotient; [lia|]. rewrite plus_IZR, !mult_IZR, <- Ey, <- Ed, <- T. ring.
  - replace (1 - (1 - part one t - delta P) / ratio P) with (1 + (part one t - 1 + delta P) / ratio P) by (field; lra).
    apply down_beyond, down_quotient; [apply lt_IZR; rewrite mult_IZR; nra|].
    rewrite !mult_IZR, plus_IZR, !mult_IZR, minus_IZR, <- Ed, <- Ey, <- T. field; lra.
Qed.

(** [ceiling]: the step, rounded up. *)
Theorem ceiling_is t : rounded_up one (step P (part one t)) (ceiling one y d t).
Proof.
  destruct denominators as (Dy & Dd & Ny). pose proof (Q2R_parts y) as Ey. pose proof (Q2R_parts d) as Ed.
  rewrite <- ratio_is in Ey. rewrite <- delta_is in Ed. of_privacy P.
  assert (T : part one t * IZR one = IZR t) by (unfold part; field; lra).
  change (step P) with (phi P); unfold phi, ceiling. apply up_least_of; [apply up_one|]. apply up_least_of.
  - apply up_quotient; [lia|]. rewrite Pos2Z.inj_mul, plus_IZR, !mult_IZR, <- Ey, <- Ed, <- T. ring.
  - apply up_before, down_quotient; [apply lt_IZR; rewrite mult_IZR; nra|].
    rewrite !mult_IZR, minus_IZR, !mult_IZR, minus_IZR, <- Ed, <- Ey, <- T. field; lra.
Qed.

(** Corollary 2's value, rounded up ... *)
Theorem balanced_top_is : rounded_up one (balance P) (balanced_top one y d).
Proof.
  destruct denominators as (Dy & Dd & Ny). pose proof (Q2R_parts y) as Ey. pose proof (Q2R_parts d) as Ed.
  rewrite <- ratio_is in Ey. rewrite <- delta_is in Ed. of_privacy P.
  unfold balanced_top. apply up_quotient; [apply lt_IZR; rewrite mult_IZR, plus_IZR; nra|].
  rewrite !mult_IZR, !plus_IZR, !mult_IZR, <- Ey, <- Ed. unfold balance. field; lra.
Qed.

(** ... and down: one half is among the parts of ONE, and private beside itself. *)
Theorem best_balanced_iff t : (2 | one)%Z -> (0 <= t <= one)%Z ->
  (best_balanced one (allowed one y d) t = true <-> rounded_down one (balance P) t).
Proof.
  intros [half Half] Ht. of_privacy P. pose proof (balance_is P) as B. pose proof (balance_half P) as H.
  assert (A : forall s, allowed one y d s (one - s) = true <-> 1 - balance P <= part one s <= balance P).
  { intros s. unfold allowed. rewrite !andb_true_iff, !fits_iff, <- !part_no by assumption. rewrite <- ratio_is, <- delta_is.
    split; [intros (((? & ?) & ?) & ?); split; nra | intros [? ?]; repeat split; nra]. }
  unfold best_balanced. rewrite andb_true_iff, orb_true_iff, negb_true_iff, Z.eqb_eq. rewrite A.
  replace (one - t - 1)%Z with (one - (t + 1))%Z by lia.
  assert (L : allowed one y d (t + 1) (one - (t + 1)) = false <-> ~ (1 - balance P <= part one (t + 1) <= balance P)).
  { rewrite <- A. destruct allowed; intuition congruence. }
  rewrite L. pose proof (proj1 (part_lt t (t + 1)) ltac:(lia)) as Up. pose proof (balance_probability P) as [_ Most]. split.
  - intros [[X Y] [-> | N]]; split; try assumption; [rewrite part_one in *; lra | lra].
  - intros [X Y]. assert (M : part one half = 1 / 2) by (unfold part; rewrite Half, mult_IZR; field;
    apply IZR_lt in one_positive;
      intros Z; rewrite Half, mult_IZR, Z in one_positive; lra).
    assert (half < t + 1)%Z as G by (apply part_lt; lra). assert (half <= t)%Z as G' by lia.
    apply (part_le one one_positive) in G'. split; [lra | right; lra].
Qed.

End Steps.

(** ** Losses and claims *)

Hypothesis parts_enough : (LOSS | one)%Z.

Theorem close_iff top t : close one top t = true <-> part one top < part one t + / 2 ^ 60.
Proof.
  destruct parts_enough as [k K]. unfold close. rewrite Z.ltb_lt, K, Z.div_mul, <- K by (unfold LOSS; lia).
  assert (E : / 2 ^ 60 = part one k).
  { assert (IZR one = IZR k * 2 ^ 60) as O by (rewrite K, mult_IZR; unfold LOSS; rewrite (pow_IZR 2 60); reflexivity).
    unfold part; rewrite O. field. intros Z; rewrite O, Z in One. lra. }
  rewrite E, <- part_add, <- part_lt. lia.
Qed.

(** A claimed error is that of the entry, to 1 / 2^50 of it. *)
Definition honest_claim (claimed : Q) (t : Z) :=
  Rabs (Q2R claimed - (1 - part one t)) <= (1 - part one t) / 2 ^ 50 + / 2 ^ 1070.

Theorem honest_iff claimed t : honest one claimed t = true <-> honest_claim claimed t.
Proof.
  unfold honest_claim, honest, SMALLEST, RELATIVE. rewrite Z.leb_le.
  assert (C : forall a b : Z, (a <= b)%Z <-> IZR a <= IZR b) by (split; [apply IZR_le | apply le_IZR]). rewrite C; clear C.
  rewrite !mult_IZR, plus_IZR, mult_IZR, abs_IZR, minus_IZR, !mult_IZR, minus_IZR, <- Q2R_parts.
  replace (IZR (2 ^ 1070)) with (2 ^ 1070) by (rewrite (pow_IZR 2 1070); reflexivity).
  replace (IZR (2 ^ 1020)) with (2 ^ 1020) by (rewrite (pow_IZR 2 1020); reflexivity).
  assert (L : 2 ^ 1070 = 2 ^ 1020 * 2 ^ 50) by (rewrite <- pow_add; reflexivity).
  rewrite L; clear L. assert (K : 0 < 2 ^ 1020) by (apply pow_lt; lra). assert (M : 0 < 2 ^ 50) by (apply pow_lt; lra).
  revert K M. generalize (2 ^ 1020) (2 ^ 50); intros big half K M.
  assert (D : 0 < IZR (Zpos (Qden claimed))) by (apply IZR_lt; lia). set (den := IZR (Zpos (Qden claimed))) in *.
  unfold part. set (w := Q2R claimed - (1 - IZR t / IZR one)).
  replace (Q2R claimed * den * IZR one - (IZR one - IZR t) * den) with (den * IZR one * w) by (unfold w; field; lra).
  assert (N : 0 < den * IZR one) by nra. rewrite Rabs_mult, (Rabs_right (den * IZR one)) by lra.
  assert (F : 0 < den * IZR one * (big * half)) by (assert (0 < big * half) by nra; nra).
  replace (den * IZR one * Rabs w * (big * half)) with (den * IZR one * (big * half) * Rabs w) by ring.
  replace (den * ((IZR one - IZR t) * big + IZR one))
    with (den * IZR one * (big * half) * ((1 - IZR t / IZR one) / half + / (big * half))) by (field; repeat split; lra).
  split; [apply Rmult_le_reg_l, F | apply Rmult_le_compat_l; lra].
Qed.

End Rounding.
