(** tau below -1: what Theorem 4 says there when it is read literally.

    It starts the terminal recurrence beyond the boundary, at R_(nB + m) for m = -1 - tau. Where the red side has that many
    datasets this is right all the same: up to there phi takes its first piece, and the terminal recurrence undoes it. On a
    shorter red side the dataset does not exist; max (tau, -1), as in Tau.v, is right everywhere. *)

From Coq Require Import Reals Lra Lia Psatz ZArith Arith.
From Duotone Require Import Step Graph Homogeneous Line ClosedForm Transition Tau Balanced.
Open Scope R_scope.

Section Below.
Variables (P : privacy) (r : R).
Hypothesis Hr : probability r.
Hypothesis finite : r <> 1 \/ delta P <> 0.
Hypothesis Hy : 1 < ratio P.
Notation y := (ratio P).
Notation d := (delta P).

Lemma tau_below m : (tau P r <= -1 - Z.of_nat m)%Z <-> y ^ m * (y - 1 + 2 * d) <= ((1 - r) * (y - 1) + d) * (y + 1).
Proof.
  replace (-1 - Z.of_nat m)%Z with (Z.of_nat 0 - Z.of_nat (S m))%Z by lia. rewrite tau_least by assumption.
  pose proof (below_positive P r Hr finite Hy). set (q := _ * (y + 1)). assert (0 < q) by (unfold q; nra).
  assert (E : threshold P r * q = y - 1 + 2 * d) by (unfold threshold, q; field; split; lra). rewrite <- E; simpl.
  replace (threshold P r * (y * y ^ m)) with (y * (threshold P r * y ^ m)) by ring.
  replace (y ^ m * (threshold P r * q)) with (threshold P r * y ^ m * q) by ring.
  generalize (threshold P r * y ^ m); intros z; split; intros; nra.
Qed.

(** tau is below -1 exactly where the blue boundary tells the truth with [balance] or more. *)
Theorem tau_below_balance : (tau P r <= -2)%Z <-> balance P <= 1 - r.
Proof.
  pose proof (balance_is P) as B. rewrite (tau_below 1), pow_1.
  assert (((1 - r) * (y - 1) + d) * (y + 1) - y * (y - 1 + 2 * d) = (y - 1) * (1 + y) * (1 - r - balance P)).
  { replace d with (balance P * (1 + y) - y) by lra. ring. }
  assert (0 < (y - 1) * (1 + y)) by nra. split; intros; nra.
Qed.

(** Corollary 1's other proof: tau is below 0 where no is at most as likely as yes. *)
Theorem tau_half : r <= 1 / 2 -> (tau P r < 0)%Z.
Proof.
  intros H; enough (tau P r <= -1 - Z.of_nat 0)%Z by lia. apply tau_below. of_privacy P; simpl.
  assert ((y - 1) / 2 + d <= (1 - r) * (y - 1) + d) by nra. nra.
Qed.

(** Where tau is at most -1 - m, phi takes its first piece in the first m steps beyond the boundary. *)
Lemma early_beyond m i : (tau P r <= -1 - Z.of_nat m)%Z -> (i < m)%nat -> early P (1 - ini P (1 - r) i).
Proof.
  rewrite tau_below; intros T L; apply early_iff; [exact Hy|]. destruct m as [| m]; [lia|]. simpl in T.
  pose proof (power_positive P m). pose proof (power_positive P i). pose proof (Rle_pow y i m (Rlt_le _ _ Hy)).
  assert (0 <= (1 - (1 - r)) * (y - 1) + d) by (of_privacy P; destruct Hr; nra).
  set (a := (1 - (1 - r)) * (y - 1) + d) in *. set (s := y - 1 + 2 * d) in *. assert (0 < s) by (unfold s; of_privacy P; lra).
  replace ((1 - r) * (y - 1) + d) with (s - a) in T by (unfold s, a; ring).
  apply Rle_trans with (y ^ m * (a * (y + 1))); [apply Rmult_le_compat_r; [nra | apply H1; lia]|].
  enough (y ^ m * (s * (y + 1) - y * y ^ m * s) <= s) by nra.
  assert (0 <= (y ^ m - 1) * (y * y ^ m - 1)) by (apply Rmult_le_pos; nra). nra.
Qed.

Lemma ter_shift s j : ter P s (S j) = ter P ((s - d) / y) j.
Proof. induction j; [rewrite ter_S, !ter_0 | rewrite ter_S, IHj, <- ter_S]; reflexivity. Qed.

(** m steps of the first piece, and m of the terminal recurrence back. *)
Theorem terminal_undoes m : (tau P r <= -1 - Z.of_nat m)%Z -> forall i, ter P (steps P m r) (i + m) = ter P r i.
Proof.
  intros T. assert (K : forall k, (k <= m)%nat -> forall i, ter P (steps P k r) (i + k) = ter P r i).
  { induction k as [| k IH]; intros L i; [rewrite Nat.add_0_r; reflexivity|].
    assert (Hn : probability (1 - r)) by (destruct Hr; split; lra).
    pose proof (early_phase P (1 - r) m Hn Hy (fun i => early_beyond m i T) k) as I.
    replace (1 - (1 - r)) with r in I by ring. pose proof (early_beyond m k T L) as E.
    rewrite <- I in E by lia. replace (1 - (1 - steps P k r)) with (steps P k r) in E by ring.
    replace (i + S k)%nat with (S (i + k)) by lia.
    simpl; rewrite ter_shift, step_early; [|apply steps_probability, Hr | exact E].
    replace ((y * steps P k r + d - d) / y) with (steps P k r) by (field; lra). apply IH; lia. }
  apply K; lia.
Qed.

(** Theorem 4 read literally, with R_n for the probability of no at dataset n of the line. *)
Theorem theorem_4_below (Hx : probability (1 - r)) nB nR m i :
  let R n := 1 - homogeneous_optimum P (line nB nR) (1 - r) Hx n in
  tau P r = (-1 - Z.of_nat m)%Z -> (1 <= m <= nR)%nat -> (i < nB)%nat ->
  R (nB - i)%nat = Rmax 0 (ter P (R (nB + m)%nat) (i + m)).
Proof.
  intros R T Hm Hi; unfold R.
  rewrite (red_truth P (line nB nR) (1 - r) Hx (m - 1) (nB + m)%nat); [| apply line_red; simpl; lia |].
  - rewrite steps_first. replace (S (m - 1)) with m by lia. replace (1 - (1 - r)) with r by ring.
    rewrite terminal_undoes, (blue_truth P (line nB nR) (1 - r) Hx i); [| apply line_blue; simpl; lia | | lia].
    + apply late_phase; [exact Hr|].
      destruct (first_steps_change P r Hr finite _ (initial_counts P r Hr finite)) as (_ & _ & L).
      replace (initial P r) with 0%nat in L by (unfold initial; lia). rewrite ini_0 in L; exact L.
    + replace i with (nB - (nB - i))%nat at 1 by lia. apply line_away_blue; simpl; lia.
  - replace (m - 1)%nat with (nB + m - S nB)%nat by lia. apply line_away_red; simpl; lia.
Qed.

End Below.
