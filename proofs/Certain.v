(** From where on the truth is certain: `ApproxDP.certain_after`, the least n with phi^n x = 1.

    The first piece of phi never reaches 1. The second one does where its recurrence falls to 0 or below, which with delta > 0
    it does at last, and with delta = 0 never. *)

From Coq Require Import Reals Lra Lia Psatz.
From Duotone Require Import Step ClosedForm Transition.
Open Scope R_scope.

Section Certain.
Variables (P : privacy) (r : R).
Hypothesis Hr : probability r.
Notation y := (ratio P).
Notation d := (delta P).

Lemma Rmax_none x : Rmax 0 x = 0 <-> x <= 0.
Proof. unfold Rmax; destruct Rle_dec; lra. Qed.

(** When the terminal recurrence has run out. *)
Lemma ter_out s j : 1 < y -> 0 < d -> (ter P s j <= 0 <-> 1 + s * (y - 1) / d <= y ^ j).
Proof.
  intros Hy Hd; pose proof (power_positive P j). unfold ter; destruct Req_EM_T; [lra|].
  assert (E : (s / y ^ j - d * (y ^ j - 1) / (y ^ j * (y - 1))) * (y ^ j * (y - 1)) = s * (y - 1) - d * (y ^ j - 1)).
  { field; lra. }
  assert (F : s * (y - 1) / d * d = s * (y - 1)) by (field; lra).
  assert (0 < y ^ j * (y - 1)) by nra. split; intros; nra.
Qed.

(** eps > 0 and delta > 0: the first steps, and then the least number L of the others with 1 + R (y - 1) / delta <= y^L. *)
Theorem certain_after first L : 1 < y -> 0 < d -> first_steps P r first ->
  (forall j, (L <= j)%nat <-> 1 + ini P r first * (y - 1) / d <= y ^ j) ->
  forall n, steps P n (1 - r) = 1 <-> (first + L <= n)%nat.
Proof.
  intros Hy Hd HF HL n. assert (finite : r <> 1 \/ d <> 0) by (right; lra).
  assert (Hx : probability (1 - r)) by (destruct Hr; split; lra).
  pose proof (first_steps_change P r Hr finite first HF) as (_ & E & _).
  pose proof (early_phase P r first Hr Hy E) as I.
  destruct (Nat.lt_ge_cases n first) as [N | N].
  - specialize (E n N). unfold early in E. rewrite <- I in E by lia.
    destruct (steps_probability P n (1 - r) Hx). split; [nra | lia].
  - transitivity (Rmax 0 (ter P (ini P r first) (n - first)) = 0).
    + pose proof (theorem_4_steps P r Hr finite first n HF) as T; unfold closed in T. destruct (Nat.leb_spec n first); [|lra].
      replace n with first in * by lia. rewrite Nat.sub_diag, ter_0. lra.
    + rewrite Rmax_none, ter_out, <- HL by assumption. lia.
Qed.

(** eps = 0 *)
Theorem certain_after_no_epsilon n : y = 1 -> (steps P n (1 - r) = 1 <-> r <= INR n * d).
Proof. intros E; pose proof (no_epsilon P r n Hr E) as T; pose proof (Rmax_none (r - INR n * d)). lra. Qed.

(** delta = 0: never, unless it is certain at once. *)
Theorem certain_after_no_delta n : d = 0 -> r <> 0 -> steps P n (1 - r) <> 1.
Proof.
  intros D N; assert (Hx : probability (1 - r)) by (destruct Hr; split; lra). enough (steps P n (1 - r) < 1) by lra.
  induction n as [| n IH]; simpl; [destruct Hr; lra|].
  destruct (proj1 (le_step P (steps P n (1 - r)) _) (Rle_refl _)) as (_ & _ & S). of_privacy P. nra.
Qed.

End Certain.
