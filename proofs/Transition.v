(** Where the pieces of phi change, and Theorems 4 and 5 as the code computes them: without a logarithm.

    With y = e^eps and x = 1 - R, the first piece counts at step i while y^i <= Q, where

      Q = (y - 1 + 2 delta) / ((x (y - 1) + delta) (y + 1)).

    So it is taken for as many steps as the least n with Q <= y^n, which is what `log_ceiling` finds and
    `ApproxDP.transition` + 1 is. At Q = y^n the two pieces agree. Tau.v has the paper's logarithm. *)

From Coq Require Import Reals Lra Lia Psatz.
From Duotone Require Import Step Graph Homogeneous Line ClosedForm.
Open Scope R_scope.

Section Transition.
Variables (P : privacy) (r : R).
Notation y := (ratio P).
Notation d := (delta P).
Hypothesis Hr : probability r.

(** Not R = 1 with delta = 0, where Q is infinite. *)
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

(** The number of first steps: 0 where eps = 0, else the least n with Q <= y^n. *)
Definition first_steps n := (y = 1 /\ n = 0%nat) \/ (1 < y /\ forall k, (n <= k)%nat <-> threshold <= y ^ k).

Theorem first_steps_change n : first_steps n -> changes P r n.
Proof.
  intros [[E ->] | [Hy N]]; [split; [left; reflexivity | split; [lia | left; exact E]]|].
  split; [right; exact Hy | split].
  - intros i L; apply early_iff; [exact Hy|]. apply Nat.lt_nge in L. rewrite N, threshold_least in L by exact Hy.
    apply Rlt_le, Rnot_le_lt, L.
  - apply late_iff; [exact Hy | apply N; auto].
Qed.

(** Theorem 4, for phi iterated. *)
Theorem theorem_4_steps n i : first_steps n -> 1 - steps P i (1 - r) = closed P r n i.
Proof. intros N; apply closed_form; [exact Hr | apply first_steps_change, N]. Qed.

(** `iterated_step.iterates` and `ApproxDP._iterate_exact`: f = min (i, n) first steps, i - f second ones. *)
Theorem code_closed_form n i : 1 < y -> first_steps n ->
  let f := Nat.min i n in
  let s := grown P (1 - r) f in
  steps P i (1 - r) = if Nat.leb i n then s else 1 - Rmax 0 (shrunk P s (i - f)).
Proof.
  intros Hy N f s; pose proof (theorem_4_steps n i N) as T; unfold closed in T. unfold s, f.
  rewrite shrunk_is_ter, grown_is_ini by exact Hy. replace (1 - (1 - r)) with r by ring.
  destruct (Nat.leb_spec i n) as [L | L].
  - rewrite Nat.min_l by exact L. enough (1 - steps P i (1 - r) = ini P r i) by lra.
    destruct (first_steps_change n N) as (_ & E & _). apply (early_phase P r n); auto.
  - rewrite Nat.min_r by lia. replace (1 - (1 - ini P r n)) with (ini P r n) by ring. lra.
Qed.

(** Theorem 5 (Theorems 3 and 4): the probability of red at a blue dataset, i edges from the blue boundary, on any graph whose
    blue boundary says red with probability r. *)
Theorem theorem_5_counted (Hx : probability (1 - r)) (G : graph) (a : G) n i : first_steps n ->
  blue a = true -> away blue_boundary i a -> 1 - homogeneous_optimum P G (1 - r) Hx a = closed P r n i.
Proof. intros N C A; rewrite (blue_truth P G (1 - r) Hx i a C A); apply theorem_4_steps, N. Qed.

End Transition.

(** The red side, by duality: a red dataset i edges from the red boundary starts from the wrong answer there, 1 - phi r. *)
Theorem theorem_5_red_counted (P : privacy) r (Hr : probability r) (Hx : probability (1 - r)) (G : graph) (a : G) n i :
  let w := 1 - step P r in w <> 1 \/ delta P <> 0 -> first_steps P w n -> blue a = false -> away red_boundary i a ->
  homogeneous_optimum P G (1 - r) Hx a = closed P w n i.
Proof.
  intros w F N C A; pose proof (red_truth P G (1 - r) Hx i a C A) as T.
  replace (1 - (1 - r)) with r in T by ring.
  assert (Hw : probability w) by (destruct (step_probability P r Hr); split; unfold w; lra).
  rewrite <- theorem_4_steps by assumption. unfold w; replace (1 - (1 - step P r)) with (step P r) by ring. lra.
Qed.

(** The case left out: the boundary is always wrong, delta = 0, and so is every dataset of its colour that reaches it. *)
Theorem theorem_5_infinite P (Hx : probability (1 - 1)) (G : graph) (a : G) i : delta P = 0 ->
  blue a = true -> away blue_boundary i a -> 1 - homogeneous_optimum P G (1 - 1) Hx a = 1 /\ ini P 1 i = 1.
Proof. intros D C A; rewrite (blue_truth P G (1 - 1) Hx i a C A); apply never_changes, D. Qed.
