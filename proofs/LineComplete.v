(** What exactly [check_line] accepts, in real numbers: the step of a definition smaller by a hair, rounded down from entry
    to entry; a margin that is private by the definition itself; and at levels that are clipped nowhere less, by 2^-60 or
    more, than what steps give with a ratio above e^eps, rounded up each time.

    The last is what proves optimality (LineCertificate.v), and is asked at every level without end. The check looks at the
    table's own levels only, and then whether the bound from above still moves: [climbs] is why that suffices. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz List Bool.
From Duotone Require Import Step Table Margin LineCheck LineCertificate Balanced Rounding.
Import ListNotations.
Open Scope R_scope.

Section Complete.
Variables (one : Z) (y above d small_y small_d : Q).
(** The definition with the file's ratio, with one smaller by a hair, and with the bound above e^eps. *)
Variables (P0 P A : privacy).
Hypotheses (ratio_P0 : ratio P0 = Q2R y) (delta_P0 : delta P0 = Q2R d).
Hypotheses (ratio_P : ratio P = Q2R small_y) (delta_P : delta P = Q2R small_d).
Hypotheses (ratio_A : ratio A = Q2R above) (delta_A : delta A = Q2R d).
Hypotheses (one_positive : (0 < one)%Z) (parts_enough : (LOSS | one)%Z).

Notation down := (rounded_down one).
Notation up := (rounded_up one).
Notation part := (part one).
Notation may := (allowed one small_y small_d).

(** ** What is accepted *)

(** A side of a table, from the boundary outwards, where no mechanism has more than [x] at the boundary; further
    levels are answered as the last of so many. *)
Definition side_right (far : Z) (x : R) (here : Z) (rest : list Z) :=
  (forall n, (n < length rest)%nat -> down (step P (part (entry here rest n))) (entry here rest (S n))) /\
  exists most : nat -> Z, up x (most 0%nat) /\ (forall n, up (step A (part (most n))) (most (S n))) /\
                          forall n, part (most n) < part (entry here rest (Nat.min n (Z.to_nat (far - 1)))) + / 2 ^ 60.

(** The entries beside the boundary are what was asked, rounded down. *)
Definition boundary_right (far : Z) (b : boundary) (blue red : Z * list Z) :=
  match b with
  | Value m => probability (Q2R m) /\ down (Q2R m) (fst blue) /\ down (step P (1 - part (fst blue))) (fst red) /\
               side_right far (Q2R m) (fst blue) (snd blue) /\ side_right far (step A (1 - part (fst blue))) (fst red) (snd red)
  | Balanced => down (balance P) (fst blue) /\ fst red = fst blue /\
                side_right far (balance A) (fst blue) (snd blue) /\ side_right far (balance A) (fst red) (snd red)
  | Selection => down (step P 0) (fst blue) /\ fst red = one /\
                 side_right far (step A 0) (fst blue) (snd blue) /\ side_right far 1 (fst red) (snd red)
  end.

(** Any set of margins, but one that looks beyond an end that is not the noise's own: Definition 1, from level 0 to 1, which is
    that of any two neighbouring levels. *)
Definition margin_right (delta : R) (lowest : Z) (entries : list Z) := forall S, settled one lowest entries 0 S ->
  part (margin one lowest entries 0 S) <= ratio P0 * part (margin one lowest entries 1 S) + delta /\
  part (margin one lowest entries 1 S) <= ratio P0 * part (margin one lowest entries 0 S) + delta.

(** Noise with both ends, and levels clipped beyond them, if at all; or noise that is private without delta, and a table of
    twice as many levels as are told apart. *)
Definition noise_right (cap : option Z) (blue red : list Z) :=
  let entries := line_entries one blue red in
  rising one entries = true /\
  if bounded one blue red
  then (forall c, cap = Some c -> Z.of_nat (length red) <= c /\ Z.of_nat (length blue) <= c)%Z /\
       margin_right (delta P0) (line_lowest red) entries
  else exists c, cap = Some c /\ (1 <= c /\ Z.of_nat (length red) = 2 * c - 1 /\ Z.of_nat (length blue) = 2 * c - 1)%Z /\
       margin_right 0 (line_lowest red) entries.

Definition line_right (cap : option Z) (b : boundary) (blue red : list Z) (blue_error red_error : list Q) :=
  exists b0 blues r0 reds, blue = b0 :: blues /\ red = r0 :: reds /\ noise_right cap blue red /\
  Forall2 (honest_claim one) blue_error blue /\ Forall2 (honest_claim one) red_error red /\
  boundary_right (reach cap blue red) b (b0, blues) (r0, reds).

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
  { intros z. change (step A) with (phi A); unfold phi.
    assert (E : (1 - z - delta A) / ratio A * ratio A = 1 - z - delta A) by (field; lra).
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

(** Both sides of a table whose entries rise are from 0 to ONE. *)
Lemma entries_range blue red : rising one (line_entries one blue red) = true ->
  Forall (fun t => 0 <= t <= one)%Z blue /\ Forall (fun t => 0 <= t <= one)%Z red.
Proof.
  intros R. assert (G : forall t, In t (line_entries one blue red) -> (0 <= t <= one)%Z).
  { intros t I. destruct (In_nth _ _ one I) as (n & _ & <-). apply (rising_least one 0 _ n R). }
  rewrite !Forall_forall. rewrite line_entries_are in G. split; intros t I.
  - apply G, in_or_app. auto.
  - specialize (G (one - t)%Z). enough (0 <= one - t <= one)%Z by lia. apply G, in_or_app. left.
    apply (in_map (fun t => one - t)%Z). rewrite <- in_rev. exact I.
Qed.

Lemma margin_iff d' lowest entries : entries <> [] ->
  (margin_is_private one y d' entries = true <-> rising one entries = true /\ margin_right (Q2R d') lowest entries).
Proof.
  intros N. rewrite (all_events_iff one lowest entries N y d' 0). unfold margin_right. change (0 + 1)%Z with 1%Z.
  split; (intros [R H]; split; [exact R|]; intros S E; specialize (H S E); revert H);
    rewrite !fits_iff, <- ratio_P0 by assumption; auto.
Qed.

Lemma noise_iff cap b0 blues r0 reds :
  check_margin one y d cap (b0 :: blues) (r0 :: reds) = true <-> noise_right cap (b0 :: blues) (r0 :: reds).
Proof.
  unfold check_margin, noise_right. pose proof (some_entries one b0 blues r0 reds) as N.
  destruct (bounded _ _ _).
  - rewrite andb_true_iff, (margin_iff _ (line_lowest (r0 :: reds)) _ N), <- delta_P0.
    destruct cap as [c|]; rewrite ?andb_true_iff, ?Z.leb_le, ?many_length; split.
    + intros ((U & V) & R & H). split; [exact R|]. split; [intros ? [= <-]; auto | exact H].
    + intros (R & U & H). auto.
    + intros (_ & R & H). split; [exact R|]. split; [discriminate | exact H].
    + intros (R & _ & H). auto.
  - destruct cap as [c|]; [|split; [discriminate | intros (_ & c & [=] & _)]].
    rewrite !andb_true_iff, Z.leb_le, !Z.eqb_eq, !many_length, (margin_iff _ (line_lowest (r0 :: reds)) _ N), RMicromega.Q2R_0.
    split.
    + intros (((U & V) & W) & R & H). split; [exact R|]. exists c. auto.
    + intros (R & ? & [= <-] & (U & V & W) & H). auto.
Qed.

(** The bound that a side comes to. *)
Lemma side_iff here rest top last : Forall (fun t => 0 <= t <= one)%Z (here :: rest) -> (0 <= top <= one)%Z ->
  (side one may rise here rest top = Some last <->
   (forall n, (n < length rest)%nat -> down (step P (part (entry here rest n))) (entry here rest (S n))) /\
   (forall n, (n <= length rest)%nat -> part (risen top n) < part (entry here rest n) + / 2 ^ 60) /\
   last = risen top (length rest)).
Proof.
  revert here top; induction rest as [| t rest IH]; intros here top R K; inversion R as [| ? ? H0 R']; subst; cbn [side length].
  - split.
    + destruct (close one top here) eqn:C; [|discriminate]. intros [= <-]. rewrite close_iff in C by assumption.
      split; [lia|]. split; [|reflexivity]. intros [| n] Hn; [exact C | lia].
    + intros (_ & F & ->). specialize (F 0%nat ltac:(lia)). apply close_iff in F; try assumption. cbn in F.
      rewrite F. reflexivity.
  - inversion R' as [| ? ? H1 _]; subst.
    assert (E : forall n, risen (rise top) n = risen top (S n)).
    { induction n; [reflexivity|]. change (rise (risen (rise top) n) = rise (risen top (S n))). rewrite IHn; reflexivity. }
    pose proof (close_iff one one_positive parts_enough top here) as C.
    pose proof (tight_down one one_positive small_y small_d P ratio_P delta_P t here H1 H0) as D.
    specialize (IH t (rise top) R' (rise_range top K)). split.
    + destruct (close one top here); [|discriminate]. destruct (tight one may t here); [|discriminate].
      rewrite IH. intros (F & G & L). split; [|split].
      * intros [| n] Hn; [apply D; reflexivity | apply F; lia].
      * intros [| n] Hn; [apply C; reflexivity | rewrite <- E; apply G; lia].
      * rewrite L. apply E.
    + intros (F & G & L). rewrite (proj2 C (G 0%nat ltac:(lia))), (proj2 D (F 0%nat ltac:(lia))). apply IH. split; [|split].
      * intros n Hn. apply (F (S n)). lia.
      * intros n Hn. rewrite E. apply (G (S n)). lia.
      * rewrite L. symmetry. apply E.
Qed.

Lemma risen_add top m n : risen top (m + n) = risen (risen top n) m.
Proof.
  induction m as [| m IH]; [reflexivity|]. change (rise (risen top (m + n)) = rise (risen (risen top n) m)). congruence.
Qed.

Lemma risen_range top n : (0 <= top <= one)%Z -> (0 <= risen top n <= one)%Z.
Proof. intros K; induction n; [exact K | apply rise_range, IHn]. Qed.

Lemma risen_rises top m n : (0 <= top <= one)%Z -> (m <= n)%nat -> (risen top m <= risen top n)%Z.
Proof.
  intros K; induction 1 as [| n L IH]; [lia|]. etransitivity; [exact IH|]. apply rise_extends, risen_range, K.
Qed.

Lemma entry_end here rest n : (length rest <= n)%nat -> entry here rest n = entry here rest (length rest).
Proof. intros L. rewrite !entry_beyond by lia. reflexivity. Qed.

Lemma entries_rise here rest : Forall (fun t => 0 <= t <= one)%Z (here :: rest) ->
  (forall n, (n < length rest)%nat -> down (step P (part (entry here rest n))) (entry here rest (S n))) ->
  forall m n, (m <= n)%nat -> (entry here rest m <= entry here rest n)%Z.
Proof.
  intros R D m n; induction 1 as [| n L IH]; [lia|]. etransitivity; [exact IH|]. clear IH L.
  destruct (Nat.lt_ge_cases n (length rest)) as [I | I];
    [|rewrite (entry_end here rest n), (entry_end here rest (S n)) by lia; lia].
  destruct (D n I) as [_ U].
  assert (K : (0 <= entry here rest n <= one)%Z).
  { apply (entry_range one). apply range_iff, R. }
  pose proof (part_probability one one_positive _ K) as [? ?].
  assert (X : part (entry here rest n) < part (entry here rest (S n) + 1)).
  { eapply Rle_lt_trans; [|exact U]. apply step_extends; assumption. }
  apply (part_lt one one_positive) in X. lia.
Qed.

Lemma checked_side_iff far here rest top : Forall (fun t => 0 <= t <= one)%Z (here :: rest) -> (0 <= top <= one)%Z ->
  (checked_side one may rise far here rest top = true <->
   (forall n, (n < length rest)%nat -> down (step P (part (entry here rest n))) (entry here rest (S n))) /\
   forall n, part (risen top n) < part (entry here rest (Nat.min n (Z.to_nat (far - 1)))) + / 2 ^ 60).
Proof.
  intros R K. unfold checked_side. rewrite further_entry. set (c := Z.to_nat (far - 1)). set (len := length rest). split.
  - destruct (side _ _ _ _ _ _) as [last|] eqn:E; [|discriminate]. apply side_iff in E as (D & F & ->); try assumption.
    fold len in D, F |- *. rewrite close_iff by assumption. intros C. split; [exact D|]. intros n.
    assert (Most : (risen top n <= (if rise (risen top len) =? risen top len then risen top len else one))%Z).
    { destruct (Z.eqb_spec (rise (risen top len)) (risen top len)) as [S | _]; [|apply risen_range, K].
      destruct (Nat.le_gt_cases n len); [apply risen_rises; assumption|].
      enough (G : forall m, risen (risen top len) m = risen top len).
      { specialize (G (n - len)%nat). rewrite <- risen_add in G. replace (n - len + len)%nat with n in G by lia. lia. }
      induction m as [| m IH]; [reflexivity|]. change (rise (risen (risen top len) m) = risen top len). rewrite IH. exact S. }
    apply (part_le one one_positive) in Most. destruct (Nat.le_gt_cases n c) as [L | L].
    + rewrite Nat.min_l by exact L. destruct (Nat.le_gt_cases n len) as [I | I]; [apply F, I|].
      rewrite (entry_end here rest n), <- (entry_end here rest c) by (fold len; lia). eapply Rle_lt_trans; eassumption.
    + rewrite Nat.min_r by lia. eapply Rle_lt_trans; eassumption.
  - intros (D & F). assert (S : side one may rise here rest top = Some (risen top len)).
    { apply side_iff; try assumption. split; [exact D|]. split; [|reflexivity]. intros n Hn.
      eapply Rlt_le_trans; [apply F|]. apply Rplus_le_compat_r, part_le; [exact one_positive|].
      apply entries_rise; [exact R | exact D | lia]. }
    rewrite S, close_iff by assumption.
    destruct (Z.eqb_spec (rise (risen top len)) (risen top len)) as [I | I].
    + destruct (Nat.le_gt_cases len c) as [L | L].
      * specialize (F len). rewrite Nat.min_l in F by exact L. rewrite (entry_end here rest c) by exact L. exact F.
      * specialize (F len). rewrite Nat.min_r in F by lia. exact F.
    + destruct (climbs (risen top len) (risen_range _ _ K) I) as [n G].
      specialize (F (n + (len + c))%nat). rewrite Nat.min_r in F by lia.
      eapply Rle_lt_trans; [|exact F]. apply part_le; [exact one_positive|].
      rewrite <- G, <- risen_add. apply risen_rises; [exact K | lia].
Qed.

Lemma side_right_iff far x here rest top : Forall (fun t => 0 <= t <= one)%Z (here :: rest) -> probability x -> up x top ->
  (checked_side one may rise far here rest top = true <-> side_right far x here rest).
Proof.
  intros R X U. rewrite checked_side_iff; [|exact R | eapply up_range; eassumption]. unfold side_right.
  split; intros [D F]; (split; [exact D|]).
  - exists (risen top). split; [exact U|]. split; [intros n; apply ceiling_is; assumption | exact F].
  - destruct F as (most & M0 & M & F). intros n. rewrite <- (risen_once top most x U M0 M). apply F.
Qed.

Let even : (2 | one)%Z.
Proof. destruct parts_enough as [k ->]. exists (k * 2 ^ 59)%Z. unfold LOSS. lia. Qed.

Lemma beside_boundary far here rest top :
  checked_side one may rise far here rest top = true -> close one top here = true.
Proof. unfold checked_side. destruct rest; simpl; destruct (close one top here); auto. Qed.

(** The boundary entries, and both sides of the table. *)
Lemma boundary_iff far b b0 blues r0 reds :
  Forall (fun t => 0 <= t <= one)%Z (b0 :: blues) -> Forall (fun t => 0 <= t <= one)%Z (r0 :: reds) ->
  (match tops one may rise (fun _ => balanced_top one above d) b b0 r0 with
   | Some (blue_top, red_top) => checked_side one may rise far b0 blues blue_top &&
                                 checked_side one may rise far r0 reds red_top
   | None => false
   end = true <-> boundary_right far b (b0, blues) (r0, reds)).
Proof.
  intros Rb Rr. pose proof (Forall_inv Rb) as B0. pose proof (Forall_inv Rr) as R0. cbv beta in B0, R0.
  unfold boundary_right, tops, fixed_value; cbn [fst snd]. destruct b as [| m |].
  - pose proof (balanced_top_is one one_positive above d A ratio_A delta_A) as T. pose proof (balance_probability A) as Q.
    rewrite <- (best_balanced_iff one one_positive small_y small_d P ratio_P delta_P b0 even B0).
    destruct (Z.eqb_spec r0 b0) as [-> | N]; [|intuition discriminate].
    rewrite <- !(side_right_iff _ _ _ _ _ Rb Q T), <- !(side_right_iff _ _ _ _ _ Rr Q T).
    split.
    + intros H. destruct (best_balanced _ _ _); [|discriminate]. destruct (close _ _ _); [|discriminate].
      cbn in H. rewrite andb_true_iff in H. tauto.
    + intros (B & _ & Sb & Sr). rewrite B, (beside_boundary _ _ _ _ Sb); cbn. rewrite Sb, Sr. reflexivity.
  - rewrite <- (value_iff m), <- (down_iff one one_positive (Q2R m) (floor_of one m) b0 (floor_is one one_positive m)).
    assert (N : (0 <= one - b0 <= one)%Z) by lia. rewrite (part_no one one_positive b0).
    rewrite <- (tight_down one one_positive small_y small_d P ratio_P delta_P r0 (one - b0) R0 N).
    pose proof (ceiling_is one one_positive above d A ratio_A delta_A (one - b0)) as Tr.
    pose proof (step_probability A _ (part_probability one one_positive _ N)) as Qr.
    rewrite <- (side_right_iff _ _ _ _ _ Rr Qr Tr).
    assert (Tb : ((0 <=? Qnum m) && (Qnum m <=? Zpos (Qden m)))%Z = true ->
      (checked_side one may rise far b0 blues (ceiling_of one m) = true <-> side_right far (Q2R m) b0 blues)).
    { intros V. apply side_right_iff; [exact Rb | apply value_iff, V | apply ceiling_of_is; assumption]. }
    destruct (_ && _)%Z eqn:V in Tb |- *; [specialize (Tb eq_refl); rewrite <- Tb; clear Tb | clear Tb];
      destruct (tight one may r0 (one - b0)) eqn:T; try (intuition discriminate). split.
    + intros H. destruct (_ && _) eqn:E in H; [|discriminate]. cbn in H. rewrite !andb_true_iff, Z.eqb_eq in *. tauto.
    + intros (_ & F & _ & Sb & Sr). rewrite (beside_boundary _ _ _ _ Sb), (proj2 (Z.eqb_eq _ _) F); cbn. rewrite Sb, Sr.
      reflexivity.
  - pose proof (step_probability A 0 ltac:(split; lra)) as Q.
    pose proof (ceiling_is one one_positive above d A ratio_A delta_A 0) as T.
    rewrite (part_0 one) in T. assert (Q1 : probability 1) by (split; lra).
    rewrite <- (side_right_iff _ _ _ _ _ Rb Q T), <- (side_right_iff _ _ _ _ _ Rr Q1 (up_one one one_positive)).
    rewrite <- (part_0 one), <- (tight_down one one_positive small_y small_d P ratio_P delta_P b0 0 B0 ltac:(lia)).
    rewrite <- (Z.eqb_eq r0 one).
    destruct (r0 =? one)%Z eqn:O; [apply Z.eqb_eq in O; subst r0 | intuition discriminate].
    destruct (tight one may b0 0) eqn:H; [|intuition discriminate]. cbn. rewrite andb_true_iff. tauto.
Qed.

(** What is accepted is what is right. *)
Theorem check_line_iff cap b blue red blue_error red_error :
  check_line one y above d (small_y, small_d) cap b blue red blue_error red_error = true <->
  line_right cap b blue red blue_error red_error.
Proof.
  unfold line_right, check_line, check_sides. cbn [fst snd]. rewrite andb_true_iff. split.
  - destruct blue as [| b0 blues]; [intros []; discriminate|]. destruct red as [| r0 reds]; [intros []; discriminate|].
    rewrite !andb_true_iff, !range_iff, !all_honest_iff. intros (M & (((Rb & Rr) & Eb) & Er) & H).
    exists b0, blues, r0, reds. do 2 (split; [reflexivity|]). split; [apply noise_iff, M|]. do 2 (split; [assumption|]).
    apply boundary_iff; assumption.
  - intros (b0 & blues & r0 & reds & -> & -> & M & Eb & Er & H). destruct (entries_range _ _ (proj1 M)) as [Rb Rr].
    apply boundary_iff in H; [|assumption|assumption]. apply noise_iff in M.
    rewrite !andb_true_iff, !range_iff, !all_honest_iff. auto 8.
Qed.

End Complete.
