(** What the package writes of a line is accepted: `_side` and `line_table` in the code go outwards from the boundary by steps
    rounded down, computed as in FastStep.v, until nothing changes; they keep the largest gap to the bound from above, and take
    more bits, or give up, unless it is below 2^-60. The claimed errors are floats, correctly rounded; that they are honest is a
    hypothesis here. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz List Bool.
From Duotone Require Import Step Table LineCheck LineCertificate GraphCheck Balanced Rounding LineComplete.
Import ListNotations.
Open Scope Z_scope.

Section Written.
Variables (one : Z) (y above d : Q).

(** A side, and the largest gap; None where it would be longer than [fuel]. *)
Fixpoint write_side (fuel : nat) (here top : Z) : option (list Z * Z) :=
  let following := step_down one y d here in
  if following =? here
  then Some ([], if ceiling one above d top =? top then top - here else Z.max (top - here) (one - here))
  else match fuel with
       | O => None
       | S fuel => match write_side fuel following (ceiling one above d top) with
                   | Some (rest, gap) => Some (following :: rest, Z.max (top - here) gap)
                   | None => None
                   end
       end.

(** The boundary entries, and bounds on them from above. *)
Definition balance_down : Z :=
  (Qnum y * Zpos (Qden d) + Qnum d * Zpos (Qden y)) * one / (Zpos (Qden d) * (Zpos (Qden y) + Qnum y)).

Definition starts (b : boundary) : (Z * Z) * (Z * Z) :=
  match b with
  | Value m => ((floor_of one m, ceiling_of one m),
                (step_down one y d (one - floor_of one m), ceiling one above d (one - floor_of one m)))
  | Balanced => ((balance_down, balanced_top one above d), (balance_down, balanced_top one above d))
  | Selection => ((step_down one y d 0, ceiling one above d 0), (one, one))
  end.

(** A table of both sides, if it loses little enough. *)
Definition write_line (fuel : nat) (b : boundary) : option (list Z * list Z) :=
  let '((b0, blue_top), (r0, red_top)) := starts b in
  match write_side fuel b0 blue_top, write_side fuel r0 red_top with
  | Some (blues, gap), Some (reds, gap') => if Z.max gap gap' <? one / LOSS then Some (b0 :: blues, r0 :: reds) else None
  | _, _ => None
  end.

Variable P : privacy.
Hypotheses (ratio_P : ratio P = Q2R y) (delta_P : delta P = Q2R d).
Hypotheses (one_positive : 0 < one) (parts_enough : (LOSS | one)).

Lemma step_down_range t : 0 <= t <= one -> 0 <= step_down one y d t <= one.
Proof.
  intros H. eapply (down_range one one_positive); [|apply (step_down_is one one_positive y d P); assumption].
  apply step_probability, part_probability; assumption.
Qed.

Lemma step_down_tight t : 0 <= t <= one -> tight one y d (step_down one y d t) t = true.
Proof.
  intros H. apply (tight_down one one_positive y d P ratio_P delta_P); [apply step_down_range, H | exact H|].
  apply step_down_is; assumption.
Qed.

(** A side that is written passes, where its gap is small. *)
Lemma written_side fuel here top rest gap :
  0 <= here <= one -> write_side fuel here top = Some (rest, gap) -> gap < one / LOSS ->
  side one y above d here rest top = true /\ in_range one (here :: rest) = true.
Proof.
  assert (R : forall t, 0 <= t <= one -> (0 <=? t) && (t <=? one) = true) by
    (intros; apply andb_true_iff; rewrite !Z.leb_le; lia).
  revert here top rest gap; induction fuel as [| fuel IH]; intros here top rest gap H; cbn [write_side];
    destruct (Z.eqb_spec (step_down one y d here) here) as [S | _]; try discriminate.
  1, 2: intros [= <- <-] G; split; [|unfold in_range; simpl; rewrite (R here H); reflexivity];
    pose proof (step_down_tight here H) as T; rewrite S in T; cbn [side]; rewrite T; unfold close;
    destruct (ceiling one above d top =? top); rewrite !andb_true_iff, !Z.ltb_lt; repeat split; lia.
  destruct (write_side fuel _ _) as [[rest' gap']|] eqn:W; [|discriminate]. intros [= <- <-] G.
  destruct (IH _ _ _ _ (step_down_range here H) W ltac:(lia)) as [S I]. split.
  - cbn [side]. rewrite S, (step_down_tight here H). unfold close. rewrite !andb_true_iff, Z.ltb_lt. repeat split; lia.
  - unfold in_range in *. cbn [forallb]. rewrite (R here H). exact I.
Qed.

Lemma balance_down_is : rounded_down one (balance P) balance_down.
Proof.
  pose proof (Q2R_parts y) as Ey. pose proof (Q2R_parts d) as Ed. rewrite <- ratio_P in Ey. rewrite <- delta_P in Ed.
  of_privacy P. assert (0 < IZR (Zpos (Qden y)))%R by (apply IZR_lt; lia).
  assert (0 < IZR (Zpos (Qden d)))%R by (apply IZR_lt; lia).
  assert (0 < IZR (Qnum y))%R by nra.
  unfold balance_down. apply (down_quotient one one_positive); [apply lt_IZR; rewrite mult_IZR, plus_IZR; nra|].
  rewrite !mult_IZR, !plus_IZR, !mult_IZR, <- Ey, <- Ed. unfold balance. field; lra.
Qed.

(** Whatever table is written passes the check. *)
Theorem written_accepted fuel b blue red blue_error red_error :
  match b with Value m => probability (Q2R m) | _ => True end -> write_line fuel b = Some (blue, red) ->
  all_honest one blue_error blue = true -> all_honest one red_error red = true ->
  check_line one y above d b blue red blue_error red_error = true.
Proof.
  unfold write_line. intros V W Eb Er. destruct (starts b) as [[b0 bt] [r0 rt]] eqn:S.
  destruct (write_side fuel b0 bt) as [[blues gap]|] eqn:Wb; [|discriminate].
  destruct (write_side fuel r0 rt) as [[reds gap']|] eqn:Wr; [|discriminate].
  destruct (Z.ltb_spec (Z.max gap gap') (one / LOSS)) as [G | _]; [|discriminate]. injection W as <- <-.
  assert (even : (2 | one)) by (destruct parts_enough as [k ->]; exists (k * 2 ^ 59); unfold LOSS; lia).
  assert (F : forall m, probability (Q2R m) -> 0 <= floor_of one m <= one) by
    (intros m Hm; eapply (down_range one one_positive); [exact Hm | apply floor_is; assumption]).
  assert (B : 0 <= balance_down <= one) by
    (eapply (down_range one one_positive); [apply (balance_probability P) | apply balance_down_is]).
  assert (R : 0 <= b0 <= one /\ 0 <= r0 <= one).
  { destruct b as [| m |]; injection S as <- <- <- <-; [auto | |split; [apply step_down_range|]; lia].
    specialize (F m V). split; [exact F | apply step_down_range; lia]. }
  destruct R as [Rb Rr]. destruct (written_side _ _ _ _ _ Rb Wb ltac:(lia)) as [Sb Ib].
  destruct (written_side _ _ _ _ _ Rr Wr ltac:(lia)) as [Sr Ir]. pose proof (beside_boundary one y above d _ _ _ Sb) as C.
  unfold check_line. rewrite Ib, Ir, Eb, Er.
  enough (E : allowed one y d b0 (one - r0) = true /\ tops one y above d b b0 r0 = Some (bt, rt)).
  { destruct E as [-> ->]. rewrite Sb, Sr. reflexivity. }
  destruct b as [| m |]; injection S as <- <- <- <-; unfold tops, fixed_value.
  - assert (X : best_balanced one y d balance_down = true) by
      (apply (best_balanced_iff one one_positive y d P); auto using balance_down_is).
    rewrite Z.eqb_refl, X, C. split; [|reflexivity]. unfold best_balanced in X. apply andb_true_iff in X. apply X.
  - pose proof (step_down_tight (one - floor_of one m) ltac:(specialize (F m V); lia)) as T. rewrite T, C, Z.eqb_refl.
    rewrite (proj2 (value_iff m) V). split; [|reflexivity]. rewrite allowed_flip. apply (tight_across one y d _ _ T).
  - pose proof (step_down_tight 0 ltac:(lia)) as T. rewrite T, !Z.eqb_refl, Z.sub_diag. split; [|reflexivity].
    rewrite allowed_symmetric. apply (tight_across one y d _ _ T).
Qed.

End Written.
