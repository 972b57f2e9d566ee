(** phi iterated in closed form: the two recurrences of Theorem 4.

    In terms of the wrong answer, R = 1 - x, one step of phi takes R to the larger of 1 - e^eps (1 - R) - delta, its first
    piece, and (R - delta) / e^eps, its second one, or to 0 if both are below. The first piece counts while
    x (1 + e^eps) + delta <= 1; since x only grows, the second one counts from some step on. Both recurrences are linear: the
    first has the solution [ini], the second [ter]. *)

From Coq Require Import Reals Lra Lia Psatz.
From Duotone Require Import Step.
Open Scope R_scope.

(** Lemma 1, for y > 1 (see Errata.v); x = 1 needs no case of its own, since then z < 1 = xy + x - y. *)
Lemma lemma_1 x y z : y > 1 -> (1 - y + x * y - z > (x - z) / y <-> z < x * y + x - y).
Proof.
  intros Hy; assert (E : (x - z) / y * y = x - z) by (field; lra).
  split; intros H.
  - assert (0 < (y - 1) * (x * y + x - y - z)) by nra. nra.
  - apply Rmult_gt_reg_l with y; [lra|]. nra.
Qed.

(** Lemma 4: where no is at most as likely as yes, the second piece counts. *)
Lemma lemma_4 x y z : x <= 1 / 2 -> y >= 1 -> z >= 0 -> 1 - y + x * y - z <= (x - z) / y.
Proof.
  intros Hx Hy Hz; apply Rmult_le_reg_l with y; [lra|]. replace (y * ((x - z) / y)) with (x - z) by (field; lra).
  assert (0 <= (y - 1) * z) by nra. assert (0 <= (y - 1) * (y - x * (y + 1))) by (apply Rmult_le_pos; nra). nra.
Qed.

Section ClosedForm.
Variable P : privacy.
Notation y := (ratio P).
Notation d := (delta P).

(** Definition 11, the initial recurrence (y > 1): i steps from the wrong answer's probability R. *)
Definition ini (r : R) (i : nat) := 1 - y ^ i * (1 - r) - d * (y ^ i - 1) / (y - 1).

(** Definition 12, the terminal recurrence. *)
Definition ter (r : R) (i : nat) :=
  if Req_EM_T y 1 then r - INR i * d else r / y ^ i - d * (y ^ i - 1) / (y ^ i * (y - 1)).

Lemma power_positive i : 1 <= y ^ i.
Proof. of_privacy P; apply pow_R1_Rle; assumption. Qed.

Lemma ini_0 r : ini r 0 = r.
Proof. unfold ini, Rdiv; simpl; ring. Qed.

Lemma ini_S r i : 1 < y -> ini r (S i) = 1 + y * ini r i - y - d.
Proof. intros; unfold ini; simpl; field; lra. Qed.

(** Lemma 2: it is the one solution of R' = 1 - y (1 - R) - delta. *)
Lemma lemma_2 u : 1 < y -> (forall i, u (S i) = 1 + y * u i - y - d) -> forall i, u i = ini (u 0%nat) i.
Proof. intros Hy H i; induction i; [rewrite ini_0 | rewrite H, ini_S, IHi]; auto. Qed.

Lemma ter_0 r : ter r 0 = r.
Proof. of_privacy P; unfold ter; destruct Req_EM_T; simpl; [ring | field; lra]. Qed.

Lemma ter_S r i : ter r (S i) = (ter r i - d) / y.
Proof.
  of_privacy P; pose proof (power_positive i); unfold ter; destruct Req_EM_T as [E | N].
  - rewrite S_INR, E; field.
  - simpl; field; lra.
Qed.

(** Lemma 3: it is the one solution of R' = (R - delta) / y. *)
Lemma lemma_3 u : (forall i, u (S i) = (u i - d) / y) -> forall i, u i = ter (u 0%nat) i.
Proof. intros H i; induction i; [rewrite ter_0 | rewrite H, ter_S, IHi]; auto. Qed.

(** Where phi takes its first piece, and where its second. *)
Definition early x := x * (1 + y) + d <= 1.
Definition late x := y = 1 \/ 1 <= x * (1 + y) + d.

Lemma step_early x : 0 <= x -> early x -> step P x = y * x + d.
Proof.
  unfold early; of_privacy P; intros Hx E; apply Rle_antisym.
  - apply (le_step P x (step P x)), Rle_refl.
  - apply le_step; repeat split; nra.
Qed.

Lemma step_late x : late x -> 1 - step P x = Rmax 0 ((1 - x - d) / y).
Proof.
  unfold late; of_privacy P; intros L.
  assert (1 - (1 - x - d) / y <= y * x + d).
  { apply Rmult_le_reg_l with y; [lra|].
    replace (y * (1 - (1 - x - d) / y)) with (y - (1 - x - d)) by (field; lra). destruct L as [-> | L]; nra. }
  change (step P) with (phi P); unfold phi, Rmin, Rmax; repeat destruct Rle_dec; lra.
Qed.

(** Past the first piece there is no way back. *)
Lemma late_stays x : probability x -> late x -> late (step P x).
Proof.
  intros [H0 H1] [E | L]; [left; exact E | right]. pose proof (step_extends P x H1 H0). of_privacy P; nra.
Qed.

Lemma late_steps n x : probability x -> late x -> late (steps P n x).
Proof. intros Hx L; induction n; simpl; auto using late_stays, steps_probability. Qed.

(** Early steps: Definition 11, which needs no clamp. *)
Theorem early_phase r n : probability r -> 1 < y -> (forall i, (i < n)%nat -> early (1 - ini r i)) ->
  forall i, (i <= n)%nat -> 1 - steps P i (1 - r) = ini r i.
Proof.
  intros Hr Hy E; induction i as [| i IH]; intros L; [rewrite ini_0; simpl; ring|].
  specialize (IH (Nat.le_trans _ _ _ (Nat.le_succ_diag_r i) L)).
  assert (X : steps P i (1 - r) = 1 - ini r i) by lra. simpl; rewrite X, ini_S by assumption.
  rewrite step_early; [ring | | apply E; lia].
  rewrite <- X; apply steps_probability; destruct Hr; split; lra.
Qed.

(** Late steps: Definition 12, clamped at 0. *)
Theorem late_phase r j : probability r -> late (1 - r) -> 1 - steps P j (1 - r) = Rmax 0 (ter r j).
Proof.
  intros Hr L; assert (Hx : probability (1 - r)) by (destruct Hr; split; lra).
  induction j as [| j IH]; [rewrite ter_0; simpl; unfold Rmax; destruct Rle_dec, Hr; lra|].
  simpl; rewrite step_late by (apply late_steps; assumption). rewrite IH, ter_S.
  of_privacy P. assert (I : 0 < / y) by (apply Rinv_0_lt_compat; lra).
  unfold Rdiv, Rmax; repeat destruct Rle_dec; nra.
Qed.

(** The number of early steps. *)
Definition changes r n := (n = 0%nat \/ 1 < y) /\ (forall i, (i < n)%nat -> early (1 - ini r i)) /\ late (1 - ini r n).

(** Theorem 4's two cases: n initial steps, and terminal ones from there. *)
Definition closed r n i := if Nat.leb i n then Rmax 0 (ini r i) else Rmax 0 (ter (ini r n) (i - n)).

(** Theorem 4 for any n at which the pieces change. *)
Theorem closed_form r n : probability r -> changes r n -> forall i, 1 - steps P i (1 - r) = closed r n i.
Proof.
  intros Hr (Y & E & L) i; unfold closed.
  assert (Hx : probability (1 - r)) by (destruct Hr; split; lra).
  assert (I : forall i, (i <= n)%nat -> 1 - steps P i (1 - r) = ini r i).
  { destruct Y as [-> | Hy]; [|apply early_phase; assumption].
    intros k Hk; replace k with 0%nat by lia. rewrite ini_0; simpl; ring. }
  destruct (Nat.leb_spec i n) as [Hi | Hi].
  - rewrite (I i Hi), Rmax_right; [reflexivity|]. rewrite <- I by assumption.
    destruct (steps_probability P i (1 - r) Hx); lra.
  - assert (X : steps P n (1 - r) = 1 - ini r n) by (rewrite <- I; [ring | lia]).
    replace i with (i - n + n)%nat at 1 by lia. rewrite steps_add, X. apply late_phase; [|assumption].
    destruct (steps_probability P n (1 - r) Hx); split; lra.
Qed.

(** R = 1 with delta = 0 never leaves the initial recurrence: R stays 1. *)
Theorem never_changes i : d = 0 -> 1 - steps P i (1 - 1) = 1 /\ ini 1 i = 1.
Proof.
  intros D; split; [|unfold ini; rewrite D; unfold Rdiv; ring].
  enough (steps P i (1 - 1) = 0) by lra. induction i; simpl; [ring|]. of_privacy P.
  rewrite IHi, step_early; [rewrite D; ring | lra | unfold early; lra].
Qed.

(** eps = 0 has no initial phase: R - i delta, clamped. *)
Theorem no_epsilon r i : probability r -> y = 1 -> 1 - steps P i (1 - r) = Rmax 0 (r - INR i * d).
Proof.
  intros Hr E; rewrite late_phase; [unfold ter; destruct Req_EM_T; [reflexivity | contradiction] | assumption | left; exact E].
Qed.

(** The same formulas as `iterated_step.iterates` has them: f steps of the first piece, j of the second. *)
Definition grown x f := x * y ^ f + d * (y ^ f - 1) / (y - 1).
Definition shrunk s j := (1 - s) * / y ^ j - d * (1 - / y ^ j) / (y - 1).

Lemma grown_is_ini x f : grown x f = 1 - ini (1 - x) f.
Proof. unfold grown, ini; ring. Qed.

Lemma shrunk_is_ter s j : 1 < y -> shrunk s j = ter (1 - s) j.
Proof.
  intros; pose proof (power_positive j). unfold shrunk, ter; destruct Req_EM_T; [lra|]. field; lra.
Qed.

End ClosedForm.
