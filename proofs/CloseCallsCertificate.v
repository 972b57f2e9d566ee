(** What a certificate of close calls proves (`close_calls` in tools/check_certificate.py, docs/certificates.md).

    Integers only are checked: the entries of the table, logarithms rounded down for their clocks, and what [Gains] computes.
    If they pass, then whatever is asked, and however often, everything that is answered until the tau-th close call is
    (E, D)-private. *)

From Coq Require Import Reals Lra Psatz List Lia Arith ZArith.
From Duotone Require Import Step Graph Clock Game CloseCalls ThreeWay Nodes Gains.
Open Scope R_scope.

(** Clocks, by logarithms times c, rounded down: either they are the same, or r times the one is above the other. *)
Section Logarithms.
Variables (r c : R) (t : table).
Hypothesis c_least : IZR (parts t) <= c.
Hypothesis wrong_positive : (0 < wrong t)%Z.

Lemma ln_above x : 0 < x -> 1 - / x <= ln x.
Proof. intros H. pose proof (exp_above (- ln x)) as E. rewrite exp_Ropp, exp_ln in E by assumption. lra. Qed.

Lemma clocks_by_logarithms d (near far : Z) :
  (0 < clear t d <= clear t (S d))%Z -> (clear t (S d) <= parts t - wrong t)%Z ->
  IZR near <= c * - ln (calm t d) < IZR near + 1 -> IZR far <= c * - ln (calm t (S d)) < IZR far + 1 -> 0 <= r ->
  (near = far /\ 1 <= r) \/ IZR near + 1 <= r * IZR far -> Rpower (calm t (S d)) r <= calm t d.
Proof.
  intros [H0 H1] H2 N F Hr C. pose proof (IZR_lt _ _ H0) as R0. pose proof (IZR_le _ _ H1) as R1.
  pose proof (IZR_le _ _ H2) as R2.
  pose proof (IZR_lt _ _ wrong_positive) as Rw. rewrite minus_IZR in R2. set (W := IZR (parts t - wrong t)).
  assert (HW : 0 < W) by (unfold W; rewrite minus_IZR; lra). assert (Hc : 0 < c) by lra.
  assert (P : 0 < calm t d) by (apply Rdiv_lt_0_compat; assumption).
  apply rates; [assumption|]. destruct C as [[E L] | C].
  - destruct (Z.eq_dec (clear t d) (clear t (S d))) as [Same | Other].
    + replace (calm t (S d)) with (calm t d) by (unfold calm; rewrite Same; reflexivity).
      assert (ln (calm t d) <= 0).
      { apply ln_least; split; [assumption|]. unfold calm; fold W. apply Rmult_le_reg_r with W; [assumption|].
        unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra. unfold W; rewrite minus_IZR; lra. }
      nra.
    + exfalso. assert (Next : (clear t d + 1 <= clear t (S d))%Z) by lia. apply IZR_le in Next; rewrite plus_IZR in Next.
      assert (Q : ln (calm t (S d)) - ln (calm t d) = ln (IZR (clear t (S d)) / IZR (clear t d))).
      { unfold calm, Rdiv; fold W. rewrite !ln_mult, !ln_Rinv; try lra; apply Rinv_0_lt_compat; lra. }
      pose proof (ln_above (IZR (clear t (S d)) / IZR (clear t d)) ltac:(apply Rdiv_lt_0_compat; lra)) as A.
      rewrite <- Q in A.
      assert (B : c * (1 - / (IZR (clear t (S d)) / IZR (clear t d))) <= c * (ln (calm t (S d)) - ln (calm t d)))
        by (apply Rmult_le_compat_l; lra).
      replace (1 - / (IZR (clear t (S d)) / IZR (clear t d)))
        with ((IZR (clear t (S d)) - IZR (clear t d)) / IZR (clear t (S d)))
        in B by (field; lra).
      assert (1 <= c * ((IZR (clear t (S d)) - IZR (clear t d)) / IZR (clear t (S d)))).
      { apply Rmult_le_reg_r with (IZR (clear t (S d))); [lra|].
        replace (c * ((IZR (clear t (S d)) - IZR (clear t d)) / IZR (clear t (S d))) * IZR (clear t (S d)))
          with (c * (IZR (clear t (S d)) - IZR (clear t d))) by (field; lra). nra. }
      subst far. lra.
  - apply Rmult_le_reg_l with c; [assumption|].
    assert (r * IZR far <= r * (c * - ln (calm t (S d)))) by (apply Rmult_le_compat_l; lra).
    lra.
Qed.

End Logarithms.

(** A table for one ratio is one for a larger ratio. *)
Lemma sound_more r r' t : 1 <= r <= r' -> sound r t -> sound r' t.
Proof.
  intros Hr H; split; try apply H. intros d Hd.
  destruct (slower_more r r' (calm t d) (calm t (S d))) as [L _]; auto; try lra.
  - apply (calm_bounded r t H).
  - apply (calm_slower r t); [lra | assumption].
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
    + intros j _. apply first_start with (n := n) (k := k); auto. apply exp_least, HE.
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

Lemma power_three_halves p q : 0 < p -> 0 < q -> q * q * q <= p * p -> Rpower q (3 / 2) <= p.
Proof.
  intros Hp Hq H. apply rates; [assumption|].
  assert (L : ln (q * q * q) <= ln (p * p)).
  { destruct H as [H | ->]; [left; apply ln_increasing; [|assumption]; repeat apply Rmult_lt_0_compat; assumption | lra]. }
  rewrite !ln_mult in L by (try apply Rmult_lt_0_compat; assumption). lra.
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
  intros L N. assert (E : exp (ln 4) = 4) by (apply exp_ln; lra). rewrite <- E at 1.
  apply (certificate_private 2 (2 ^ 96) (4 * 2 ^ 96) 8 1 2 6 2 (fun _ => 0%Z)) with (r := 3 / 2); try lia;
    auto using small_sound.
  - intros [|[|h]] Hh; [| |lia]; apply Z.leb_le; vm_compute; reflexivity.
  - left; rewrite <- ln_1; apply ln_increasing; lra.
  - rewrite E, mult_IZR. lra.
  - rewrite small_gain. replace (IZR (2 ^ 96)) with 79228162514264337593543950336 by reflexivity. lra.
  - simpl; unfold g; lra.
Qed.
