(** The step on integers as the code computes it (`Rounded.on_integers`): below where the two pieces of phi meet, the first of
    them alone, and beyond it the second, with one division each. It is phi, rounded: what [step_down] and [ceiling] compute. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz.
From Duotone Require Import Step Table LineCheck LineCertificate GraphCheck ClosedForm Rounding.
Open Scope Z_scope.

Section Fast.
Variables (one : Z) (y d : Q).
Let left := Zpos (Qden y) * Zpos (Qden d).
Let right := Qnum y * Zpos (Qden d).
Let room := Zpos (Qden y) * Qnum d * one.

Definition meet := (Zpos (Qden d) - Qnum d) * Zpos (Qden y) * one / (Zpos (Qden d) * (Qnum y + Zpos (Qden y))).

Definition fast_down t :=
  if t <=? meet then (right * t + room) / left else Z.min one (one - up (left * (one - t) - room) right).
Definition fast_up t :=
  if t <=? meet then up (right * t + room) left else Z.min one (one - (left * (one - t) - room) / right).

Variable P : privacy.
Hypotheses (ratio_P : ratio P = Q2R y) (delta_P : delta P = Q2R d) (one_positive : 0 < one).
Open Scope R_scope.

Let numbers : IZR (Qnum y) = ratio P * IZR (Zpos (Qden y)) /\ IZR (Qnum d) = delta P * IZR (Zpos (Qden d)) /\
  0 < IZR (Zpos (Qden y)) /\ 0 < IZR (Zpos (Qden d)) /\ 0 < IZR (Qnum y).
Proof.
  of_privacy P. rewrite ratio_P, delta_P, !Q2R_parts. pose proof (Q2R_parts y) as E. rewrite <- ratio_P in E.
  assert (0 < IZR (Zpos (Qden y))) by (apply IZR_lt; lia). assert (0 < IZR (Zpos (Qden d))) by (apply IZR_lt; lia).
  repeat split; nra.
Qed.

(** The first piece is taken up to [meet], the second beyond it. *)
Lemma meet_is : rounded_down one ((1 - delta P) / (1 + ratio P)) meet.
Proof.
  destruct numbers as (Ny & Nd & Dy & Dd & _). of_privacy P. unfold meet. apply (down_quotient one one_positive).
  - apply lt_IZR. rewrite mult_IZR, plus_IZR. nra.
  - rewrite !mult_IZR, minus_IZR, plus_IZR, Ny, Nd. field. lra.
Qed.

Lemma pieces t : if (t <=? meet)%Z then early P (part one t) else late P (part one t).
Proof.
  of_privacy P. destruct meet_is as [A B].
  assert (E : (1 - delta P) / (1 + ratio P) * (1 + ratio P) = 1 - delta P) by (field; lra).
  destruct (Z.leb_spec t meet) as [L | L].
  - apply (part_le one one_positive) in L. unfold early. nra.
  - right. assert (meet + 1 <= t)%Z as L' by lia. apply (part_le one one_positive) in L'. nra.
Qed.

Let part_times t : part one t * IZR one = IZR t.
Proof. apply IZR_lt in one_positive. unfold part; field; lra. Qed.

Lemma first_piece t : IZR left * ((ratio P * part one t + delta P) * IZR one) = IZR (right * t + room).
Proof.
  destruct numbers as (Ny & Nd & Dy & Dd & _). unfold left, right, room.
  rewrite plus_IZR, !mult_IZR, Ny, Nd, <- (part_times t). ring.
Qed.

Lemma second_piece t : (1 - part one t - delta P) / ratio P * IZR one * IZR right = IZR (left * (one - t) - room).
Proof.
  destruct numbers as (Ny & Nd & Dy & Dd & _). of_privacy P. unfold left, right, room.
  rewrite minus_IZR, !mult_IZR, minus_IZR, Ny, Nd, <- (part_times t). field. lra.
Qed.

(** Beyond [meet], phi is 1 or its second piece. *)
Lemma step_beyond x : late P x -> step P x = Rmin 1 (1 - (1 - x - delta P) / ratio P).
Proof. intros L. pose proof (step_late P x L) as E. unfold Rmax, Rmin in *. repeat destruct Rle_dec; lra. Qed.

Let left_positive : (0 < left)%Z. Proof. unfold left; lia. Qed.
Let right_positive : (0 < right)%Z.
Proof. destruct numbers as (_ & _ & _ & Dd & Ny). unfold right. apply lt_IZR. rewrite mult_IZR. nra. Qed.

Theorem fast_down_is t : (0 <= t <= one)%Z -> fast_down t = step_down one y d t.
Proof.
  intros Ht. apply (down_once one one_positive (step P (part one t))); [|apply step_down_is; assumption].
  pose proof (pieces t) as Pc. destruct (part_probability one one_positive t Ht) as [T _]. unfold fast_down.
  destruct (t <=? meet)%Z.
  - rewrite (step_early P _ T Pc). apply (down_quotient one one_positive); [exact left_positive|]. rewrite <- first_piece. ring.
  - rewrite (step_beyond _ Pc). apply down_least; [assumption | apply down_one; assumption|].
    destruct (up_quotient one one_positive _ _ _ right_positive (second_piece t)) as [A B]. set (u := up _ right) in *.
    replace (one - u)%Z with (one + - u)%Z by lia. replace (one + - u + 1)%Z with (one + - (u - 1))%Z by lia.
    assert (M : forall s, part one (one + - s) = 1 - part one s) by
      (intros s; unfold part; apply IZR_lt in one_positive; rewrite plus_IZR, opp_IZR; field; lra).
    unfold rounded_down. replace (one + - u + 1)%Z with (one + - (u - 1))%Z by lia. rewrite !M. lra.
Qed.

Theorem fast_up_is t : (0 <= t <= one)%Z -> fast_up t = ceiling one y d t.
Proof.
  intros Ht. apply (up_once one one_positive (step P (part one t))); [|apply ceiling_is; assumption].
  pose proof (pieces t) as Pc. destruct (part_probability one one_positive t Ht) as [T _]. unfold fast_up.
  destruct (t <=? meet)%Z.
  - rewrite (step_early P _ T Pc). apply (up_quotient one one_positive); [exact left_positive|]. rewrite <- first_piece. ring.
  - rewrite (step_beyond _ Pc). apply up_least_of; [assumption | apply up_one; assumption|]. apply up_before; [assumption|].
    apply (down_quotient one one_positive); [exact right_positive | apply second_piece].
Qed.

End Fast.
