(** What exactly [check_line] accepts, in real numbers: the step with the file's ratio, rounded down from entry to entry; and
    nowhere less, by 2^-60 or more, than what the same steps give with a ratio above e^eps, rounded up each time.

    The second is what proves optimality (LineCertificate.v), and is asked at every level without end. The check looks at the
    table's own levels only, and then whether the bound from above still moves: [climbs] is why that suffices. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz List Bool.
From Duotone Require Import Step Table LineCheck LineCertificate Balanced Rounding.
Import ListNotations.
Open Scope R_scope.

Section Complete.
Variables (one : Z) (y above d : Q).
(** Steps with the file's ratio, and with the bound above e^eps. *)
Variables (P A : privacy).
Hypotheses (ratio_P : ratio P = Q2R y) (delta_P : delta P = Q2R d).
Hypotheses (ratio_A : ratio A = Q2R above) (delta_A : delta A = Q2R d).
Hypotheses (one_positive : (0 < one)%Z) (parts_enough : (LOSS | one)%Z).

Notation down := (rounded_down one).
Notation up := (rounded_up one).
Notation part := (part one).

(** ** What is accepted *)

(** A side of a table, from the boundary outwards, where no mechanism has more than [x] at the boundary. *)
Definition side_right (x : R) (here : Z) (rest : list Z) :=
  (forall n, down (step P (part (entry here rest n))) (entry here rest (S n))) /\
  exists most : nat -> Z, up x (most 0%nat) /\ (forall n, up (step A (part (most n))) (most (S n))) /\
                          forall n, part (most n) < part (entry here rest n) + / 2 ^ 60.

(** The entries beside the boundary are what was asked, rounded down. *)
Definition boundary_right (b : boundary) (blue red : Z * list Z) :=
  match b with
  | Value m => probability (Q2R m) /\ down (Q2R m) (fst blue) /\ down (step P (1 - part (fst blue))) (fst red) /\
               side_right (Q2R m) (fst blue) (snd blue) /\ side_right (step A (1 - part (fst blue))) (fst red) (snd red)
  | Balanced => down (balance P) (fst blue) /\ fst red = fst blue /\
                side_right (balance A) (fst blue) (snd blue) /\ side_right (balance A) (fst red) (snd red)
  | Selection => down (step P 0) (fst blue) /\ fst red = one /\
                 side_right (step A 0) (fst blue) (snd blue) /\ side_right 1 (fst red) (snd red)
  end.

Definition line_right (b : boundary) (blue red : list Z) (blue_error red_error : list Q) :=
  exists b0 blues r0 reds, blue = b0 :: blues /\ red = r0 :: reds /\
  Forall (fun t => 0 <= t <= one)%Z (blue ++ red) /\
  Forall2 (honest_claim one) blue_error blue /\ Forall2 (honest_claim one) red_error red /\
  boundary_right b (b0, blues) (r0, reds).

(** ** The bound from above *)

Notation rise := (ceiling one above d).
Definition risen top n := Nat.iter n rise top.

Lemma rise_range t : (0 <= t <= one)%Z -> (0 <= rise t <= one)%Z.
Proof.
  intros H. eapply up_range; [assumption | apply (step_probability A), part_probability, H; assumption|].
  apply ceiling_is; assumption.
Qed.

Lemma rise_extends t : (0 <= t <= one)%Z -> (t <= rise t)%Z.
Proof.
  intros H. destruct (part_probability one one_positive t H).
  destruct (ceiling_is one one_positive above d A ratio_A delta_A t).
  apply (part_le one one_positive). eapply Rle_trans; [|eassumption]. apply step_extends; assumption.
Qed.

Lemma risen_once top (most : nat -> Z) x : up x top -> up x (most 0%nat) -> (forall n,
  up (step A (part (most n))) (most (S n))) ->
  forall n, most n = risen top n.
Proof.
  intros T H K; induction n; [exact (up_once one one_positive x _ _ H T)|].
  eapply (up_once one one_positive); [apply K | rewrite IHn; apply ceiling_is; assumption].
Qed.

(** A step that moves at all moves from everywhere further up, but from 1. *)
Lemma moves_on x x' : x < step A x -> x <= x' -> x' < 1 -> x' < step A x'.
Proof.
  intros H L U. of_privacy A. apply Rnot_le_lt; intros K.
  assert (M : forall z, z < step A z <-> z < 1 /\ z < ratio A * z + delta A /\ 1 - z < ratio A * (1 - z) + delta A).
  { intros z. unfold step. assert (E : (1 - z - delta A) / ratio A * ratio A = 1 - z - delta A) by (field; lra).
    set (q := (1 - z - delta A) / ratio A) in *. split; [|intros (? & ? & ?)].
    - intros Hz. pose proof (Rmin_l 1 (Rmin (ratio A * z + delta A) (1 - q))).
      pose proof (Rmin_r 1 (Rmin (ratio A * z + delta A) (1 - q))).
      pose proof (Rmin_l (ratio A * z + delta A) (1 - q)). pose proof (Rmin_r (ratio A * z + delta A) (1 - q)).
      repeat split; nra.
    - repeat apply Rmin_glb_lt; nra. }
  apply M in H. enough (x' < step A x') by lra. apply M. destruct H as (? & ? & ?). repeat split; nra.
Qed.

(** So a bound that moves comes to ONE. *)
Lemma climbs top : (0 <= top <= one)%Z -> rise top <> top -> exists n, risen top n = one.
Proof.
  intros H N.
  assert (S : forall t, (top <= t < one)%Z -> (t < rise t)%Z).
  { intros t Ht. pose proof (rise_extends top H) as E.
    destruct (ceiling_is one one_positive above d A ratio_A delta_A top) as [U _].
    assert (M : part top < step A (part top)).
    { eapply Rle_lt_trans; [|exact U]. apply part_le; [assumption | lia]. }
    destruct (ceiling_is one one_positive above d A ratio_A delta_A t) as [_ V]. apply (part_lt one one_positive).
    eapply Rlt_le_trans; [|exact V]. apply moves_on with (part top); [exact M | apply part_le; [assumption | lia]|].
    rewrite <- (part_one one one_positive). apply part_lt; [assumption | lia]. }
  assert (G : forall n, (Z.min one (top + Z.of_nat n) <= risen top n <= one)%Z).
  { induction n; [simpl; lia|]. change (risen top (Datatypes.S n)) with (rise (risen top n)).
    pose proof (rise_range (risen top n) ltac:(lia)). pose proof (rise_extends (risen top n) ltac:(lia)).
    destruct (Z.eq_dec (risen top n) one) as [E | E]; [lia|]. specialize (S (risen top n) ltac:(lia)). lia. }
  exists (Z.to_nat (one - top)). specialize (G (Z.to_nat (one - top))). lia.
Qed.

(** ** The checks *)

Lemma range_iff l : in_range one l = true <-> Forall (fun t => 0 <= t <= one)%Z l.
Proof.
  unfold in_range. rewrite forallb_forall, Forall_forall. split; intros H t I; specialize (H t I);
    rewrite andb_true_iff, !Z.leb_le in *; exact H.
Qed.

Lemma all_honest_iff claims entries : all_honest one claims entries = true <-> Forall2 (honest_claim one) claims entries.
Proof.
  revert entries; induction claims as [| c claims IH]; intros [| t entries]; simpl; split; try discriminate;
    try (inversion 1; fail); auto.
  - rewrite andb_true_iff, honest_iff, IH by assumption. intros [? ?]; constructor; assumption.
  - inversion 1; subst. rewrite andb_true_iff, honest_iff, IH by assumption. auto.
Qed.

Lemma side_iff here rest top : Forall (fun t => 0 <= t <= one)%Z (here :: rest) -> (0 <= top <= one)%Z ->
  (side one y above d here rest top = true <->
   (forall n, down (step P (part (entry here rest n))) (entry here rest (S n))) /\
   forall n, part (risen top n) < part (entry here rest n) + / 2 ^ 60).
Proof.
  revert here top; induction rest as [| t rest IH]; intros here top R T; inversion R as [| ? ? H0 R']; subst; cbn [side];
    rewrite !andb_true_iff, !close_iff by assumption.
  - rewrite (tight_down one one_positive y d P) by assumption.
    assert (E : forall n, entry here [] n = here) by (intros [|]; reflexivity). split.
    + intros (C & D & F). split; intros n; rewrite !E; [exact D|]. destruct (Z.eqb_spec (rise top) top) as [S | _].
      * replace (risen top n) with top by (symmetry; induction n; simpl; congruence). exact C.
      * eapply Rle_lt_trans; [|exact F]. apply part_le; [assumption|].
        enough (0 <= risen top n <= one)%Z by lia. induction n; [exact T | apply rise_range, IHn].
    + intros (D & F). split; [exact (F 0%nat)|]. split; [exact (D 0%nat)|].
      destruct (Z.eqb_spec (rise top) top) as [S | N]; [exact (F 0%nat)|].
      destruct (climbs top T N) as [n G]. specialize (F n). rewrite G, E in F. exact F.
  - inversion R' as [| ? ? H1 _]; subst. rewrite (tight_down one one_positive y d P), IH by (assumption || apply rise_range, T).
    assert (E : forall n, risen (rise top) n = risen top (S n)).
    { induction n; [reflexivity|]. change (rise (risen (rise top) n) = rise (risen top (S n))). rewrite IHn; reflexivity. }
    split.
    + intros (C & D & F & G). split; intros [| n]; [exact D | exact (F n) | exact C|]. rewrite <- E. exact (G n).
    + intros (F & G). split; [exact (G 0%nat)|]. split; [exact (F 0%nat)|].
      split; intros n; [exact (F (S n))|]. rewrite E. exact (G (S n)).
Qed.

Lemma side_right_iff x here rest top : Forall (fun t => 0 <= t <= one)%Z (here :: rest) -> probability x -> up x top ->
  (side one y above d here rest top = true <-> side_right x here rest).
Proof.
  intros R X U. rewrite side_iff by (assumption || eapply up_range; eassumption). unfold side_right.
  split; intros [D F]; (split; [exact D|]).
  - exists (risen top). split; [exact U|]. split; [intros n; apply ceiling_is; assumption | exact F].
  - destruct F as (most & M0 & M & F). intros n. rewrite <- (risen_once top most x U M0 M). apply F.
Qed.

(** Beside the boundary, one way round is both. *)
Lemma allowed_symmetric p q : allowed one y d p q = allowed one y d q p.
Proof. unfold allowed. destruct (fits one y d p q), (fits one y d q p); simpl; auto using andb_comm. Qed.

Lemma tight_across t q : tight one y d t q = true -> allowed one y d q t = true.
Proof. unfold tight. rewrite andb_true_iff, allowed_symmetric. tauto. Qed.

Lemma allowed_flip p q : allowed one y d p (one - q) = allowed one y d (one - p) q.
Proof.
  unfold allowed. replace (one - (one - q))%Z with q by lia. replace (one - (one - p))%Z with p by lia.
  destruct (fits one y d p (one - q)), (fits one y d (one - q) p); simpl; rewrite ?andb_true_r, ?andb_false_r; reflexivity.
Qed.

Lemma beside_boundary here rest top : side one y above d here rest top = true -> close one top here = true.
Proof. destruct rest; simpl; rewrite andb_true_iff; tauto. Qed.

Let even : (2 | one)%Z.
Proof. destruct parts_enough as [k ->]. exists (k * 2 ^ 59)%Z. unfold LOSS. lia. Qed.

(** The boundary entries, both sides of the table, and that they are private beside each other. *)
Lemma boundary_iff b b0 blues r0 reds :
  Forall (fun t => 0 <= t <= one)%Z (b0 :: blues) -> Forall (fun t => 0 <= t <= one)%Z (r0 :: reds) ->
  (allowed one y d b0 (one - r0) = true /\
   match tops one y above d b b0 r0 with
   | Some (blue_top, red_top) => side one y above d b0 blues blue_top && side one y above d r0 reds red_top
   | None => false
   end = true <-> boundary_right b (b0, blues) (r0, reds)).
Proof.
  intros Rb Rr. pose proof (Forall_inv Rb) as B0. pose proof (Forall_inv Rr) as R0. cbv beta in B0, R0.
  unfold boundary_right, tops, fixed_value; cbn [fst snd]. destruct b as [| m |].
  - pose proof (balanced_top_is one one_positive above d A ratio_A delta_A) as T. pose proof (balance_probability A) as Q.
    rewrite <- (best_balanced_iff one one_positive y d P ratio_P delta_P b0 even B0).
    destruct (Z.eqb_spec r0 b0) as [-> | N]; [|intuition discriminate].
    rewrite <- !(side_right_iff _ _ _ _ Rb Q T), <- !(side_right_iff _ _ _ _ Rr Q T).
    split.
    + intros [_ H]. destruct (best_balanced _ _ _ _); [|discriminate]. destruct (close _ _ _); [|discriminate].
      cbn in H. rewrite andb_true_iff in H. tauto.
    + intros (B & _ & Sb & Sr). rewrite B, (beside_boundary _ _ _ Sb); cbn. rewrite Sb, Sr. split; [|reflexivity].
      unfold best_balanced in B. rewrite andb_true_iff in B. apply B.
  - rewrite <- (value_iff m), <- (down_iff one one_positive (Q2R m) (floor_of one m) b0 (floor_is one one_positive m)).
    assert (N : (0 <= one - b0 <= one)%Z) by lia. rewrite (part_no one one_positive b0).
    rewrite <- (tight_down one one_positive y d P ratio_P delta_P r0 (one - b0) R0 N).
    pose proof (ceiling_is one one_positive above d A ratio_A delta_A (one - b0)) as Tr.
    pose proof (step_probability A _ (part_probability one one_positive _ N)) as Qr.
    rewrite <- (side_right_iff _ _ _ _ Rr Qr Tr).
    assert (Tb : ((0 <=? Qnum m) && (Qnum m <=? Zpos (Qden m)))%Z = true ->
      (side one y above d b0 blues (ceiling_of one m) = true <-> side_right (Q2R m) b0 blues)).
    { intros V. apply side_right_iff; [exact Rb | apply value_iff, V | apply ceiling_of_is; assumption]. }
    destruct (_ && _)%Z eqn:V in Tb |- *; [specialize (Tb eq_refl); rewrite <- Tb; clear Tb | clear Tb];
      destruct (tight one y d r0 (one - b0)) eqn:T; try (intuition discriminate). split.
    + intros [_ H]. destruct (_ && _) eqn:E in H; [|discriminate]. cbn in H. rewrite !andb_true_iff, Z.eqb_eq in *. tauto.
    + intros (_ & F & _ & Sb & Sr). rewrite (beside_boundary _ _ _ Sb), (proj2 (Z.eqb_eq _ _) F); cbn. rewrite Sb, Sr.
      split; [|reflexivity]. rewrite allowed_flip. apply (tight_across _ _ T).
  - pose proof (step_probability A 0 ltac:(split; lra)) as Q.
    pose proof (ceiling_is one one_positive above d A ratio_A delta_A 0) as T.
    rewrite (part_0 one) in T. assert (Q1 : probability 1) by (split; lra).
    rewrite <- (side_right_iff _ _ _ _ Rb Q T), <- (side_right_iff _ _ _ _ Rr Q1 (up_one one one_positive)).
    rewrite <- (part_0 one), <- (tight_down one one_positive y d P ratio_P delta_P b0 0 B0 ltac:(lia)), <- (Z.eqb_eq r0 one).
    destruct (r0 =? one)%Z eqn:O; [apply Z.eqb_eq in O; subst r0; rewrite Z.sub_diag | intuition discriminate].
    destruct (tight one y d b0 0) eqn:H; [|intuition discriminate]. cbn. rewrite andb_true_iff.
    rewrite allowed_symmetric, (tight_across _ _ H). tauto.
Qed.

(** What is accepted is what is right. *)
Theorem check_line_iff b blue red blue_error red_error :
  check_line one y above d b blue red blue_error red_error = true <-> line_right b blue red blue_error red_error.
Proof.
  unfold line_right, check_line. split.
  - destruct blue as [| b0 blues]; [discriminate|]. destruct red as [| r0 reds]; [discriminate|].
    rewrite !andb_true_iff, !range_iff, !all_honest_iff. intros (((((Rb & Rr) & Across) & Eb) & Er) & H).
    exists b0, blues, r0, reds. do 2 (split; [reflexivity|]). split; [apply Forall_app; split; assumption|].
    do 2 (split; [assumption|]). apply boundary_iff; auto.
  - intros (b0 & blues & r0 & reds & -> & -> & R & Eb & Er & H). apply Forall_app in R as [Rb Rr].
    apply boundary_iff in H as [Across H]; [|assumption|assumption].
    rewrite !andb_true_iff, !range_iff, !all_honest_iff. auto 7.
Qed.

End Complete.
