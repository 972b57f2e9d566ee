(** What a certificate of close calls proves (`close_calls` in tools/check_certificate.py, docs/theory.md).

    Integers only are checked: the entries of the table, logarithms rounded down for their clocks, and what [Gains] computes.
    If they pass, then whatever is asked, and however often, everything that is answered until the tau-th close call is
    (E, D)-private. *)

From Coq Require Import Reals Lra Psatz List Lia Arith ZArith.
From Duotone Require Import Step Graph Exp Clock Game CloseCalls ThreeWay Nodes NodeFunctions Gains Recurrences.
Open Scope R_scope.

(** Clocks, by their rates times c, rounded down: either these are the same, or r times the one is above the other. *)
Section Logarithms.
Variables (r c a b : R) (t t' near far : Z).
Hypothesis r_least : 1 <= r.
Hypothesis near_down : IZR near <= c * a < IZR near + 1.
Hypothesis far_down : IZR far <= c * b < IZR far + 1.

(** Where c is at least the number of parts, rates rounded down are the same only if the entries are. *)
Lemma same_entries rest : 0 < rest -> rest <= c -> (0 < t <= t')%Z -> IZR t' <= rest ->
  IZR t / rest = exp (- a) -> IZR t' / rest = exp (- b) -> near = far -> t = t'.
Proof.
  intros Hw Hc [H0 H1] H2 Ea Eb E. destruct (Z.eq_dec t t') as [|N]; [assumption|]. exfalso.
  assert (Next : (t + 1 <= t')%Z) by lia. apply IZR_le in Next; rewrite plus_IZR in Next. apply IZR_lt in H0.
  assert (Q : exp (- (a - b)) = IZR t / IZR t').
  { replace (- (a - b)) with (- a + - - b) by ring. rewrite exp_plus, exp_Ropp with (x := - b), <- Ea, <- Eb. field; lra. }
  pose proof (exp_above (- (a - b))) as A. rewrite Q in A.
  assert (B : IZR t / IZR t' * IZR t' = IZR t) by (field; lra).
  assert (C : IZR t' - (a - b) * IZR t' <= IZR t).
  { apply Rmult_le_compat_r with (r := IZR t') in A; lra. }
  assert (D : 0 < a - b) by (apply Rmult_lt_reg_r with (IZR t'); lra).
  assert ((a - b) * IZR t' <= (a - b) * c) by (apply Rmult_le_compat_l; lra). subst far. lra.
Qed.

Theorem clocks_by_logarithms rest : 0 < rest -> rest <= c -> (0 < t <= t')%Z -> IZR t' <= rest ->
  IZR t / rest = exp (- a) -> IZR t' / rest = exp (- b) -> near = far \/ IZR near + 1 <= r * IZR far -> a <= r * b.
Proof.
  intros Hw Hc Ht H2 Ea Eb [E | L].
  - assert (t = t') by (eapply same_entries; eauto). subst t'.
    assert (a = b) by (enough (- a = - b) by lra; apply exp_once; congruence). subst b.
    enough (0 <= a) by (assert (1 * a <= r * a) by (apply Rmult_le_compat_r; lra); lra).
    enough (- a <= 0) by lra. apply exp_le. rewrite <- Ea, exp_0. apply Rmult_le_reg_r with rest; [assumption|].
    unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
  - apply Rmult_le_reg_l with c; [lra|]. assert (r * IZR far <= r * (c * b)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

End Logarithms.

(** A table for one ratio is one for a larger ratio. *)
Lemma sound_more r r' t : 1 <= r <= r' -> sound r t -> sound r' t.
Proof.
  intros Hr H; split; try apply H. intros d Hd. destruct (clocks _ _ H d Hd) as (a & b & Ea & Eb & L).
  exists a, b; repeat split; auto. enough (0 <= b) by (assert (r * b <= r' * b) by (apply Rmult_le_compat_r; lra); lra).
  pose proof (calm_bounded r t H (S d)). enough (- b <= 0) by lra. apply exp_le. rewrite <- Eb, exp_0. lra.
Qed.

Section Certificate.
Variables (m one y_parts : Z) (n k zero turn tau : nat) (e : nat -> Z).

(** The functions, made one from the other, and what is gained with so many close calls. *)
Fixpoint function h : nat -> Z := match h with
  | O => first m one y_parts zero
  | S h => new m one n k turn (function h)
  end.
Fixpoint lost h := match h with O => 0%Z | S h => (lost h + (e h + m + 1))%Z end.
Definition gain := (function tau zero + lost tau)%Z.

Hypothesis m_positive : (0 < m)%Z.
Hypothesis one_positive : (0 < one)%Z.
Hypothesis k_most : (k <= n)%nat.
Hypothesis zero_most : (zero <= n)%nat.
Hypothesis turn_between : (1 <= turn <= n)%nat.
Hypothesis y_parts_least : (0 <= y_parts)%Z.
Hypothesis paid_enough : forall h, (h < tau)%nat -> (fails m one n k (function h) (function (S h)) <= e h)%Z.

Lemma function_within h : within_one one n (function h).
Proof. induction h; simpl; [apply first_within | apply new_within]; auto. Qed.

Lemma paid_lost h : paid (fun h => IZR (e h + m + 1) / IZR one) h = IZR (lost h) / IZR one.
Proof.
  pose proof (IZR_lt _ _ one_positive). induction h as [|h IH]; simpl; [field; lra|].
  rewrite IH, (plus_IZR (lost h)). field; lra.
Qed.

(** The functions of [gains] are those of the theorem. *)
Theorem gains_bound E : 0 <= E -> IZR y_parts <= exp E * IZR one ->
  exists U, bounds (exp E) (g (IZR m) ^ k) tau U /\ U tau 1 = IZR gain / IZR one.
Proof.
  intros HE Hy. pose proof (IZR_lt _ _ m_positive) as Hm. pose proof (IZR_lt _ _ one_positive) as H1.
  assert (Hl : 0 < / g (IZR m) ^ zero) by (apply Rinv_0_lt_compat, G_positive; assumption).
  assert (Ez : x (IZR m) (/ g (IZR m) ^ zero) zero = 1).
  { unfold x; apply Rinv_l. pose proof (G_positive m m_positive zero). lra. }
  exists (U (IZR m) (/ g (IZR m) ^ zero) n (fun h => share one (function h)) (fun h => IZR (e h + m + 1) / IZR one)); split.
  - apply nodes_bound; auto; [left; apply exp_pos | |].
    + intros j _. apply first_start with (n := n) (k := k); auto. apply exp_at_least_one, HE.
    + intros h Hh. apply checked_step; auto using function_within. apply fails_checked; auto.
  - rewrite U_at_one with (k := k) (i := zero) by auto. rewrite paid_lost. unfold gain, share. rewrite plus_IZR. field; lra.
Qed.

(** What passes is private: any table that was checked, any questions, either of two neighbours. *)
Theorem certificate_private {G : graph} E D r t (who : asker (G := G)) S a b :
  0 <= E -> IZR y_parts <= exp E * IZR one -> IZR gain / IZR one <= D -> 1 <= r <= g (IZR m) ^ k -> sound r t ->
  levels_near who -> near a b ->
  transcripts a (answered t who tau) S <= exp E * transcripts b (answered t who tau) S + D.
Proof.
  intros HE Hy HD Hr Ht L N. destruct (gains_bound E HE Hy) as (U & B & E1).
  pose proof (three_way_private (g (IZR m) ^ k) t ltac:(lra) (sound_more _ _ t Hr Ht) _ _ U who S a b B L N). lra.
Qed.

End Certificate.

(** Not in vain: a table of three entries out of 16, nodes (3/2)^-2 to (3/2)^6, a budget of (ln 4, 0.106): two close calls. *)
Definition small := {| parts := 16; wrong := 4; entries := (4 :: 5 :: 6 :: nil)%Z |}.

Lemma power_three_halves p q : 0 < p -> 0 < q -> q * q * q <= p * p ->
  exists a b, p = exp (- a) /\ q = exp (- b) /\ a <= 3 / 2 * b.
Proof.
  intros Hp Hq H. destruct (logarithm p Hp) as [a <-], (logarithm q Hq) as [b <-]. exists (- a), (- b).
  rewrite !Ropp_involutive. repeat split. rewrite <- !exp_plus in H. apply exp_le in H. lra.
Qed.

Lemma small_sound : sound (3 / 2) small.
Proof.
  split; try reflexivity.
  - intros [|[|[|d]]]; unfold clear; simpl; lia.
  - intros [|[|d]]; unfold clear; simpl; lia.
  - intros [|[|d]]; simpl; intros; try lia; unfold calm, clear; simpl; apply power_three_halves; lra.
Qed.

Lemma small_gain : gain 2 (2 ^ 96) (4 * 2 ^ 96) 8 1 2 6 2 (fun _ => 0%Z) = 8340860029701144868075122234%Z.
Proof. vm_compute; reflexivity. Qed.

Theorem small_private {G : graph} (who : asker (G := G)) S a b : levels_near who -> near a b ->
  transcripts a (answered small who 2) S <= 4 * transcripts b (answered small who 2) S + 106 / 1000.
Proof.
  intros L N. destruct (logarithm 4) as [z E]; [lra|]. rewrite <- E at 1.
  apply (certificate_private 2 (2 ^ 96) (4 * 2 ^ 96) 8 1 2 6 2 (fun _ => 0%Z)) with (r := 3 / 2); try lia;
    auto using small_sound.
  - intros [|[|h]] Hh; [| |lia]; apply Z.leb_le; vm_compute; reflexivity.
  - apply exp_le. rewrite E, exp_0. lra.
  - rewrite E, mult_IZR. lra.
  - rewrite small_gain. replace (IZR (2 ^ 96)) with 79228162514264337593543950336 by reflexivity. lra.
  - simpl; unfold g; lra.
Qed.
