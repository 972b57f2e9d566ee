(** Corollaries 1 and 2: balanced mechanisms.

    Where no is at most as likely as yes at the blue boundary, phi takes its second piece at once. A balanced mechanism says the
    truth equally often on both sides of the boundary, with some probability x <= phi (1 - x); the largest such x is
    (e^eps + delta) / (1 + e^eps), `ApproxDP.balance`, and the optimum with that value is balanced and dominates all others.
    `balanced` in the code. *)

From Coq Require Import Reals Lra Lia Psatz ZArith.
From Duotone Require Import Step Graph Morphism Optimum Homogeneous LineMechanism ClosedForm.
Open Scope R_scope.

Section Balanced.
Variable P : privacy.
Notation y := (ratio P).
Notation d := (delta P).

Lemma late_half r : r <= 1 / 2 -> late P (1 - r).
Proof. of_privacy P; intros; right; nra. Qed.

(** Corollary 1: from R <= 1/2 only the terminal recurrence. *)
Theorem corollary_1 r (Hr : probability r) (Hx : probability (1 - r)) (G : graph) (a : G) k : r <= 1 / 2 ->
  blue a = true -> away blue_boundary k a -> 1 - homogeneous_optimum P G (1 - r) Hx a = Rmax 0 (ter P r k).
Proof. intros H C A; rewrite (blue_truth P G (1 - r) Hx k a C A). apply late_phase; [exact Hr | apply late_half, H]. Qed.

(** `ApproxDP.balance` *)
Definition balance := (y + d) / (1 + y).

Lemma balance_is : balance * (1 + y) = y + d.
Proof. of_privacy P; unfold balance; field; lra. Qed.

Lemma balance_probability : probability balance.
Proof. of_privacy P; pose proof balance_is; split; nra. Qed.

Lemma balance_half : 1 - balance <= 1 / 2.
Proof. of_privacy P; pose proof balance_is; nra. Qed.

(** The largest x with x <= phi (1 - x) ... *)
Theorem balance_largest x : probability x -> (x <= step P (1 - x) <-> x <= balance).
Proof.
  intros [H0 H1]; of_privacy P; pose proof balance_is. rewrite le_step; split; [intros (_ & H2 & _); nra|].
  intros H2; repeat split; nra.
Qed.

(** ... where the two are equal. *)
Theorem balance_fixed : step P (1 - balance) = balance.
Proof.
  pose proof balance_probability as [? ?]. pose proof balance_is. rewrite step_early; [lra | lra | unfold early; lra].
Qed.

(** Balanced: the truth is as likely at every dataset of either boundary. *)
Definition balanced {G : graph} (M : mechanism G) := forall b c, blue_boundary b -> red_boundary c -> M b = 1 - M c.

Definition balanced_optimum (G : graph) := homogeneous_optimum P G balance balance_probability.

Theorem balanced_optimum_private (G : graph) : private P (balanced_optimum G).
Proof. apply homogeneous_private. Qed.

Theorem balanced_optimum_balanced (G : graph) : balanced (balanced_optimum G).
Proof.
  intros b c Hb Hc. unfold balanced_optimum; rewrite homogeneous_keeps by assumption.
  pose proof (red_truth P G balance balance_probability 0 c (proj1 Hc) (away_inside _ c Hc)) as T. simpl in T.
  rewrite balance_fixed in T; lra.
Qed.

(** A balanced private mechanism has at most [balance] at the boundary. *)
Lemma balanced_most {G : graph} (M : mechanism G) b : private P M -> balanced M -> blue_boundary b -> M b <= balance.
Proof.
  intros HM B Hb; destruct Hb as (C & c & E & D).
  assert (S : M b = 1 - M c) by (apply B; split; eauto using near_symmetric).
  apply private_steps in HM; destruct HM as [Hp HM]. specialize (HM c b (near_symmetric E)).
  replace (M c) with (1 - M b) in HM by lra. apply balance_largest in HM; [exact HM | apply Hp].
Qed.

(** Corollary 2, optimality: it dominates every private balanced mechanism, on any graph. *)
Theorem balanced_optimum_dominates {G : graph} (M : mechanism G) :
  private P M -> balanced M -> dominates (balanced_optimum G) M.
Proof.
  intros HM B a; unfold truth, balanced_optimum, homogeneous_optimum, optimum. destruct (blue a) eqn:C.
  - apply bound_greatest; intros z [-> | (b & n & Hb & W & ->)]; [apply HM|].
    apply Rle_trans with (steps P n (M b)); [apply private_walks; assumption|].
    apply steps_increase, balanced_most; assumption.
  - enough (1 - M a <= bound P G blue_boundary (fun _ => 1 - balance)
      (given_no G blue_boundary (fun _ => balance) (fun _ _ => balance_probability)) a) by lra.
    apply bound_greatest; intros z [-> | (b & n & Hb & W & ->)]; [destruct (proj1 HM a); lra|].
    destruct (walk_enters n b a W (proj1 Hb) C) as (j & c & Hc & V & L).
    pose proof (private_walks P _ j c a (private_dual P M HM) V) as T. cbv beta in T.
    rewrite <- (B b c Hb Hc) in T. apply Rle_trans with (1 := T).
    apply Rle_trans with (steps P j balance); [apply steps_increase, balanced_most; assumption|].
    rewrite <- balance_fixed at 1. rewrite steps_first. apply steps_extend; [|exact L].
    destruct balance_probability; split; lra.
Qed.

(** Corollary 2, the formula: the wrong answer k >= 0 edges from the boundary of a dataset's own colour. *)
Definition balanced_error (k : nat) :=
  if Req_EM_T y 1 then (1 - d) / 2 - INR k * d
  else (y - 1 - d * (y ^ (k + 1) + y ^ k - 2)) / (y ^ k * (y + 1) * (y - 1)).

Lemma balanced_error_is k : ter P (1 - balance) k = balanced_error k.
Proof.
  of_privacy P; pose proof (power_positive P k). unfold ter, balanced_error, balance.
  destruct Req_EM_T as [-> | N]; [field|]. rewrite pow_add, pow_1. field; lra.
Qed.

Theorem corollary_2 (G : graph) (a : G) k : away (boundary (blue a)) k a ->
  1 - truth (balanced_optimum G) a = Rmax 0 (balanced_error k).
Proof.
  intros A; unfold balanced_optimum; rewrite (truth_away P G _ balance_probability k a A), <- balanced_error_is.
  replace (start P balance (blue a)) with (1 - (1 - balance)).
  - apply late_phase; [destruct balance_probability; split; lra | apply late_half, balance_half].
  - unfold start; destruct (blue a); [ring | rewrite balance_fixed; ring].
Qed.

(** `balanced` builds the line mechanism with [balance] on both sides: it is the one with that blue boundary value. *)
Corollary balanced_line l : line_mechanism P balance balance l = with_boundary P balance l.
Proof. unfold with_boundary; rewrite balance_fixed; reflexivity. Qed.

End Balanced.
