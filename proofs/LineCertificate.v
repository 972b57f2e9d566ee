(** What [check_line] accepts is private with its margin, over all events, and no private mechanism with what was asked of the
    boundary is right more often, at any level, by 2^-60 or more. What exactly it accepts is in LineComplete.v. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz List Bool.
From Duotone Require Import Step Graph LineMechanism Table Margin MarginPrivate LineCheck.
Import ListNotations.
Open Scope R_scope.

(** A side of a table, from the boundary outwards; beyond its end the last entry stays. *)
Fixpoint entry (here : Z) (rest : list Z) (n : nat) {struct n} : Z :=
  match n, rest with S n, t :: rest => entry t rest n | _, _ => here end.

(** Where yes has so many parts of ONE at each level. *)
Definition table one (blue red : Z * list Z) : mechanism integers := fun l =>
  if Z.leb 0 l then part one (entry (fst blue) (snd blue) (Z.to_nat l))
  else 1 - part one (entry (fst red) (snd red) (Z.to_nat (-1 - l))).

(** The mechanism, where levels from so far on are answered alike. *)
Definition clipped_table one (reach : Z) blue red : mechanism integers := fun l => table one blue red (clip reach l).

(** To what noise is added: null in a certificate is that levels are not clipped. *)
Definition clipped_to (cap : option Z) (l : Z) : Z := match cap with Some cap => clip cap l | None => l end.

(** What was asked of the boundary, of any mechanism. *)
Definition asked (b : boundary) (N : mechanism integers) :=
  match b with
  | Value m => N 0%Z = Q2R m
  | Balanced => N 0%Z = 1 - N (-1)%Z
  | Selection => N (-1)%Z = 0
  end.

Lemma many_length {A} (l : list A) : many l = Z.of_nat (length l).
Proof.
  unfold many. enough (E : forall n, fold_left (fun n _ => n + 1)%Z l n = (n + Z.of_nat (length l))%Z) by apply E.
  induction l as [| a l IH]; intros n; cbn [fold_left length]; [lia | rewrite IH; lia].
Qed.

Lemma last_nth {A} (l : list A) d : last l d = nth (length l - 1) l d.
Proof.
  induction l as [| a [| a' l] IH]; try reflexivity. change (last (a :: a' :: l) d) with (last (a' :: l) d). rewrite IH.
  cbn [length nth]. replace (S (S (length l)) - 1)%nat with (S (S (length l) - 1)) by lia. reflexivity.
Qed.

Lemma Q2R_1 : Q2R 1 = 1.
Proof. unfold Q2R; cbn; lra. Qed.

Lemma entry_beyond here rest n : (length rest <= n)%nat -> entry here rest n = last (here :: rest) 0%Z.
Proof.
  revert here n; induction rest as [| t rest IH]; intros here [| n] L; cbn [length] in L; try reflexivity; [lia|].
  cbn [entry]. rewrite IH by lia. destruct rest; reflexivity.
Qed.

Lemma further_entry n here rest : further n here rest = entry here rest (Z.to_nat n).
Proof.
  revert n here; induction rest as [| t rest IH]; intros n here; cbn [further].
  - destruct (Z.to_nat n); reflexivity.
  - destruct (Z.ltb_spec 0 n) as [L | L].
    + rewrite IH. replace (Z.to_nat n) with (S (Z.to_nat (n - 1))) by lia. reflexivity.
    + replace (Z.to_nat n) with 0%nat by lia. reflexivity.
Qed.

(** ** The sign of the margin of a line's table is the answer of that table *)

Lemma entry_nth here rest n d : entry here rest n = nth (Nat.min n (length rest)) (here :: rest) d.
Proof. revert here n; induction rest as [| t rest IH]; intros here [| n]; try reflexivity. cbn. rewrite IH. reflexivity. Qed.

Lemma line_entries_are one blue red : line_entries one blue red = map (fun t => one - t)%Z (rev red) ++ blue.
Proof. unfold line_entries. rewrite rev_append_rev, map_rev. reflexivity. Qed.

Lemma chance_is_table one b0 blues r0 reds l : (0 < one)%Z ->
  part one (chance one (line_lowest (r0 :: reds)) (line_entries one (b0 :: blues) (r0 :: reds)) l) =
  table one (b0, blues) (r0, reds) l.
Proof.
  intros O. rewrite line_entries_are. unfold chance, line_lowest, table. cbn [fst snd].
  set (n := length (r0 :: reds)). assert (N : (1 <= n)%nat) by (unfold n; simpl; lia).
  assert (L : length (map (fun t => one - t)%Z (rev (r0 :: reds))) = n) by (rewrite map_length, rev_length; reflexivity).
  rewrite app_length, L. cbn [length]. destruct (Z.leb_spec 0 l).
  - f_equal. rewrite app_nth2, L by lia. rewrite (entry_nth b0 blues _ one). f_equal. lia.
  - rewrite (part_no one O), (entry_nth r0 reds _ one). f_equal. rewrite app_nth1 by lia.
    rewrite (nth_indep _ one (one - 0)%Z) by lia. rewrite (map_nth (fun t => one - t)%Z (rev (r0 :: reds)) 0%Z).
    f_equal. rewrite rev_nth by (fold n; lia). fold n. rewrite (nth_indep _ one 0%Z) by (simpl; lia). f_equal.
    unfold n in *. cbn [length] in *. lia.
Qed.

Lemma some_entries one b0 blues r0 reds : line_entries one (b0 :: blues) (r0 :: reds) <> [].
Proof. rewrite line_entries_are. intros E. apply app_eq_nil in E as [_ E]. discriminate. Qed.

(** Which end is certain. *)
Lemma ends_iff one b0 blues r0 reds : let entries := line_entries one (b0 :: blues) (r0 :: reds) in
  length entries = (length (r0 :: reds) + length (b0 :: blues))%nat /\
  (ends_above one entries <-> last (r0 :: reds) 0 = one)%Z /\ (ends_below one entries <-> last (b0 :: blues) 0 = one)%Z.
Proof.
  intros entries. assert (N : (length entries = length (r0 :: reds) + length (b0 :: blues))%nat).
  { unfold entries. rewrite line_entries_are, app_length, map_length, rev_length. reflexivity. }
  assert (First : nth 0 entries one = (one - last (r0 :: reds) 0)%Z).
  { unfold entries. rewrite line_entries_are. destruct (exists_last (l := r0 :: reds)) as (init & u & E); [discriminate|].
    rewrite E, last_last, rev_app_distr. reflexivity. }
  assert (Last : nth (length entries - 1) entries one = last (b0 :: blues) 0%Z).
  { rewrite N. unfold entries. rewrite line_entries_are, app_nth2; rewrite map_length, rev_length; [|cbn [length]; lia].
    rewrite last_nth, (nth_indep _ one 0%Z) by (cbn [length]; lia). f_equal. cbn [length]. lia. }
  unfold ends_above, ends_below. rewrite First, Last. split; [exact N | lia].
Qed.

Lemma bounded_iff one b0 blues r0 reds : let entries := line_entries one (b0 :: blues) (r0 :: reds) in
  bounded one (b0 :: blues) (r0 :: reds) = true <-> ends_above one entries /\ ends_below one entries.
Proof.
  intros entries. destruct (ends_iff one b0 blues r0 reds) as (_ & A & B). unfold bounded, entries.
  rewrite A, B, andb_true_iff, !Z.eqb_eq. reflexivity.
Qed.

(** Clipped to a cap, or to none that matters. *)
Theorem margin_sign one b0 blues r0 reds cap l :
  let yes := line_entries one (b0 :: blues) (r0 :: reds) in
  let lowest := line_lowest (r0 :: reds) in
  let highest := Z.of_nat (length blues) in
  (0 < one)%Z -> (1 <= cap)%Z -> (- cap <= l < cap \/ - cap <= lowest /\ highest < cap)%Z ->
  (lowest <= - cap \/ ends_above one yes)%Z -> (cap - 1 <= highest \/ ends_below one yes)%Z ->
  part one (margin one lowest yes (clip cap l) (fun k => 0 <=? k)%Z) = table one (b0, blues) (r0, reds) l.
Proof.
  intros yes lowest highest O C I A B. rewrite <- chance_is_table by exact O. f_equal.
  assert (H : (lowest + Z.of_nat (length yes) - 1 = highest)%Z).
  { unfold lowest, line_lowest, yes, highest. rewrite line_entries_are, app_length, map_length, rev_length. cbn [length]. lia. }
  apply clipped_sign_exact; fold yes; fold lowest; rewrite ?H; auto; try lia. apply some_entries.
Qed.

Section Sound.
Variables (one : Z) (y above d small_y small_d : Q) (P : privacy).
Hypothesis one_positive : (0 < one)%Z.
Hypotheses (ratio_least : 1 <= Q2R y <= ratio P) (ratio_most : ratio P <= Q2R above).
Hypothesis delta_is : delta P = Q2R d.

Let One : 0 < IZR one.
Proof. apply IZR_lt; assumption. Qed.

Let from t := part one t.

Lemma close_sound top t x : close one top t = true -> x <= from top -> x < from t + / 2 ^ 60.
Proof.
  unfold close, LOSS; rewrite Z.ltb_lt; intros C L. eapply Rle_lt_trans; [exact L|].
  pose proof (Z.mul_div_le one (2 ^ 60) ltac:(lia)) as F. apply IZR_le in F. rewrite mult_IZR in F.
  apply IZR_lt in C. rewrite minus_IZR in C. unfold from, part.
  assert (E : IZR (2 ^ 60) = 2 ^ 60) by (rewrite (pow_IZR 2 60); reflexivity). rewrite E in F; clear E.
  assert (K : 0 < 2 ^ 60) by (apply pow_lt; lra).
  apply Rmult_lt_reg_r with (IZR one * 2 ^ 60); [nra|]. field_simplify; nra.
Qed.

Lemma entry_range here rest n : in_range one (here :: rest) = true -> (0 <= entry here rest n <= one)%Z.
Proof.
  unfold in_range; rewrite forallb_forall; intros H.
  assert (K : In (entry here rest n) (here :: rest)).
  { clear H; revert here n; induction rest as [| t rest IH]; intros here [| n]; simpl; auto. right; apply IH. }
  specialize (H _ K). rewrite andb_true_iff, !Z.leb_le in H. exact H.
Qed.

(** A side bounds whatever begins at most at [top] and moves by private steps. *)
Lemma side_near here rest top last x : side one small_y small_d above d here rest top = Some last ->
  probability x -> x <= from top ->
  (forall n, (n <= length rest)%nat -> steps P n x < from (entry here rest n) + / 2 ^ 60) /\
  steps P (length rest) x <= from last.
Proof.
  revert here top x; induction rest as [| t rest IH]; intros here top x H Hx T; cbn [side] in H;
    (destruct (close one top here) eqn:C; [|discriminate]).
  - injection H as <-. split; [|exact T]. intros [| n] Hn; cbn [length] in Hn; [|lia]. exact (close_sound top here x C T).
  - destruct (tight _ _ _ t here); [|discriminate].
    assert (S1 : forall n, steps P (S n) x = steps P n (step P x)) by (induction n; simpl in *; congruence).
    destruct (IH t (ceiling one above d top) (step P x) H) as [A B]; [apply step_probability, Hx | |].
    { apply ceiling_sound; auto. }
    cbn [length]. rewrite S1. split; [|exact B]. intros [| n] Hn; [exact (close_sound top here x C T)|].
    rewrite S1. apply A. lia.
Qed.

(** ... also further out than levels are told apart. *)
Lemma checked_side_near far here rest top (f : nat -> R) :
  checked_side one small_y small_d above d far here rest top = true ->
  (forall n, probability (f n)) -> (forall n, f (S n) <= step P (f n)) -> f 0%nat <= from top ->
  forall n, f n < from (entry here rest (Nat.min n (Z.to_nat (far - 1)))) + / 2 ^ 60.
Proof.
  unfold checked_side. intros H Hf F T n. destruct (side _ _ _ _ _ _ _ _) as [last|] eqn:E; [|discriminate].
  rewrite further_entry in H. destruct (side_near _ _ _ _ _ E (Hf 0%nat) T) as [A B].
  assert (G : f n <= steps P n (f 0%nat)).
  { induction n as [| n IH]; simpl; [lra|]. eapply Rle_trans; [apply F | apply step_increases, IH]. }
  eapply Rle_lt_trans; [exact G|]. clear G. set (x := f 0%nat) in *. pose proof (Hf 0%nat) as Hx. fold x in Hx.
  assert (Most : steps P n x <= from (if ceiling one above d last =? last then last else one)%Z).
  { destruct (Z.eqb_spec (ceiling one above d last) last) as [S | _].
    - destruct (Nat.le_gt_cases n (length rest)) as [I | I].
      + eapply Rle_trans; [apply steps_extend; eassumption | exact B].
      + assert (K : forall m, steps P (m + length rest) x <= from last).
        { induction m as [| m IH]; [exact B|]. cbn [Nat.add steps]. unfold from; rewrite <- S.
          apply ceiling_sound; auto. apply steps_probability, Hx. }
        specialize (K (n - length rest)%nat). replace (n - length rest + length rest)%nat with n in K by lia. exact K.
    - unfold from, part. replace (IZR one / IZR one) with 1 by (field; lra). apply steps_probability, Hx. }
  destruct (Nat.le_gt_cases n (Z.to_nat (far - 1))) as [L | L]; [rewrite Nat.min_l by exact L | rewrite Nat.min_r by lia].
  - destruct (Nat.le_gt_cases n (length rest)) as [I | I]; [apply A, I|].
    rewrite (entry_beyond here rest n), <- (entry_beyond here rest (Z.to_nat (far - 1))) by lia.
    exact (close_sound _ _ _ H Most).
  - exact (close_sound _ _ _ H Most).
Qed.

(** A mechanism on the line moves by private steps, yes outwards above the boundary and no below it. *)
Lemma outwards (N : mechanism integers) : private P N -> forall n, N (Z.of_nat (S n)) <= step P (N (Z.of_nat n)).
Proof. rewrite private_steps; intros [_ H] n; apply H; unfold near, integers; lia. Qed.

Lemma outwards_no (N : mechanism integers) : private P N ->
  forall n, 1 - N (-1 - Z.of_nat (S n))%Z <= step P (1 - N (-1 - Z.of_nat n)%Z).
Proof. intros H n. apply (private_dual P) in H. rewrite private_steps in H; apply H; unfold near, integers; lia. Qed.

Lemma across (N : mechanism integers) : private P N -> N 0%Z <= step P (N (-1)%Z) /\ 1 - N (-1)%Z <= step P (1 - N 0%Z).
Proof.
  intros H; split; [rewrite private_steps in H; apply H; simpl; lia|].
  apply (private_dual P) in H. rewrite private_steps in H; apply H; simpl; lia.
Qed.

Lemma part_up q : Q2R q <= from (ceiling_of one q).
Proof.
  unfold ceiling_of, from, part.
  pose proof (up_least (Qnum q * one) (Zpos (Qden q)) ltac:(lia)) as U. apply IZR_le in U.
  rewrite !mult_IZR, <- Q2R_parts in U. assert (0 < IZR (Zpos (Qden q))) by (apply IZR_lt; lia).
  apply Rmult_le_reg_r with (IZR one); [exact One|]. field_simplify; [|lra].
  apply Rmult_le_reg_l with (IZR (Zpos (Qden q))); nra.
Qed.

Lemma part_down q : from (floor_of one q) <= Q2R q.
Proof.
  unfold floor_of, from, part. pose proof (Z.mul_div_le (Qnum q * one) (Zpos (Qden q)) ltac:(lia)) as U. apply IZR_le in U.
  rewrite !mult_IZR, <- Q2R_parts in U. assert (0 < IZR (Zpos (Qden q))) by (apply IZR_lt; lia).
  apply Rmult_le_reg_r with (IZR one); [exact One|]. field_simplify; [|lra].
  apply Rmult_le_reg_l with (IZR (Zpos (Qden q))); nra.
Qed.

(** Corollary 2's boundary value bounds every balanced one, and grows with the ratio. *)
Lemma balanced_bound x : probability x -> x <= step P (1 - x) -> x <= from (balanced_top one above d).
Proof.
  clear ratio_least. intros Hx H; apply le_step in H; destruct H as (_ & H & _). of_privacy P. pose proof ratio_most as A.
  assert (K : x * (1 + Q2R above) <= Q2R above + Q2R d) by (destruct Hx; rewrite <- delta_is; nra).
  unfold balanced_top, from, part. set (da := IZR (Zpos (Qden above))). set (dd := IZR (Zpos (Qden d))).
  assert (0 < da) by (apply IZR_lt; lia). assert (0 < dd) by (apply IZR_lt; lia).
  assert (Na : IZR (Qnum above) = Q2R above * da) by (symmetry; apply Q2R_parts).
  assert (Nd : IZR (Qnum d) = Q2R d * dd) by (symmetry; apply Q2R_parts).
  assert (L : (0 < Zpos (Qden d) * (Zpos (Qden above) + Qnum above))%Z).
  { apply lt_IZR; rewrite mult_IZR, plus_IZR, Na; fold da dd. apply Rmult_lt_0_compat; nra. }
  pose proof (up_least ((Qnum above * Zpos (Qden d) + Qnum d * Zpos (Qden above)) * one) _ L) as U.
  apply IZR_le in U. rewrite !mult_IZR, !plus_IZR, !mult_IZR, Na, Nd in U. fold da dd in U. set (u := IZR (up _ _)) in *.
  apply Rmult_le_reg_r with (IZR one); [exact One|]. replace (u / IZR one * IZR one) with u by (field; lra).
  assert (U' : dd * da * ((Q2R above + Q2R d) * IZR one) <= dd * da * ((1 + Q2R above) * u)) by lra.
  apply Rmult_le_reg_l in U'; [|nra]. apply Rmult_le_reg_l with (1 + Q2R above); nra.
Qed.

(** A claimed error is that of the table. *)
Lemma honest_sound claimed t : honest one claimed t = true -> (t <= one)%Z ->
  Rabs (Q2R claimed - (1 - from t)) <= (1 - from t) / 2 ^ 50 + / 2 ^ 1070.
Proof.
  unfold honest, SMALLEST, RELATIVE; rewrite Z.leb_le; intros H T. apply IZR_le in H.
  rewrite !mult_IZR, plus_IZR, mult_IZR, abs_IZR, minus_IZR, !mult_IZR, minus_IZR, <- Q2R_parts in H.
  assert (E : IZR (2 ^ 1070) = 2 ^ 1070) by (rewrite (pow_IZR 2 1070); reflexivity).
  assert (F : IZR (2 ^ 1020) = 2 ^ 1020) by (rewrite (pow_IZR 2 1020); reflexivity). rewrite E, F in H; clear E F.
  assert (K : 0 < 2 ^ 1020) by (apply pow_lt; lra). assert (L : 2 ^ 1070 = 2 ^ 1020 * 2 ^ 50) by
    (rewrite <- pow_add; reflexivity).
  assert (M : 0 < 2 ^ 50) by (apply pow_lt; lra). assert (D : 0 < IZR (Zpos (Qden claimed))) by (apply IZR_lt; lia).
  rewrite L in *; clear L. revert H K M. generalize (2 ^ 1020) (2 ^ 50); intros big half H K M.
  set (den := IZR (Zpos (Qden claimed))) in *.
  unfold from, part. set (w := Q2R claimed - (1 - IZR t / IZR one)).
  replace (Q2R claimed * den * IZR one - (IZR one - IZR t) * den) with (den * IZR one * w) in H by (unfold w; field; lra).
  rewrite Rabs_mult, (Rabs_right (den * IZR one)) in H by nra.
  apply Rmult_le_reg_l with (den * IZR one * (big * half));
    [assert (0 < den * IZR one) by nra; assert (0 < big * half) by nra; nra|].
  eapply Rle_trans; [|eapply Rle_trans; [exact H|]]; [right; ring|]. right; field. repeat split; lra.
Qed.

(** [tops] bounds both sides of the boundary of every private mechanism with what was asked. *)
Lemma tops_sound b b0 r0 blue_top red_top (N : mechanism integers) :
  tops one small_y small_d above d b b0 r0 = Some (blue_top, red_top) ->
  private P N -> asked b N -> N 0%Z <= from blue_top /\ 1 - N (-1)%Z <= from red_top.
Proof.
  intros H HN A. destruct (across N HN) as [A0 A1]. pose proof HN as [Np _].
  destruct (Np 0%Z) as [? ?], (Np (-1)%Z) as [? ?].   unfold tops, fixed_value in H. destruct b as [| m |]; simpl in A.
  - destruct (Z.eqb_spec r0 b0); [|discriminate]. destruct (_ && _) eqn:E in H; [|discriminate]. injection H as <- <-.
    assert (B : N 0%Z <= from (balanced_top one above d)).
    { apply balanced_bound; [split; lra|]. replace (1 - N 0%Z) with (N (-1)%Z) by lra. exact A0. }
    split; [exact B | lra].
  - destruct (tight one small_y small_d r0 (one - b0)); [|discriminate]. destruct (_ && _) eqn:E in H; [|discriminate].
    injection H as <- <-. rewrite !andb_true_iff, Z.eqb_eq in E. destruct E as [_ ->].
    split; [rewrite A; apply part_up|]. eapply Rle_trans; [exact A1|].
    apply ceiling_sound; auto; [split; lra|]. rewrite <- part_no by assumption. rewrite A.
    pose proof (part_down m); unfold from in *; lra.
  - destruct (_ && _) eqn:E in H; [|discriminate]. injection H as <- <-. split.
    + eapply Rle_trans; [exact A0|]. apply ceiling_sound; auto. rewrite A; unfold part, Rdiv; rewrite Rmult_0_l; lra.
    + unfold from, part. replace (IZR one / IZR one) with 1 by (field; lra). lra.
Qed.

Variables (cap : option Z) (b : boundary) (b0 r0 : Z) (blues reds : list Z) (blue_error red_error : list Q).
Hypothesis accepted :
  check_line one y above d (small_y, small_d) cap b (b0 :: blues) (r0 :: reds) blue_error red_error = true.

Let far := reach cap (b0 :: blues) (r0 :: reds).
Let M := clipped_table one far (b0, blues) (r0, reds).
Let entries := line_entries one (b0 :: blues) (r0 :: reds).
Let lowest := line_lowest (r0 :: reds).
Let some : entries <> [] := some_entries one b0 blues r0 reds.

Let ratio_parts : (Zpos (Qden y) <= Qnum y)%Z.
Proof.
  destruct ratio_least as [L _]. rewrite <- Q2R_1 in L. apply Rle_Qle in L. unfold Qle in L. cbn in L. lia.
Qed.

Let delta_parts : (0 <= Qnum d)%Z.
Proof.
  of_privacy P. pose proof (Q2R_parts d) as K. rewrite <- delta_is in K.
  assert (0 < IZR (Zpos (Qden d))) by (apply IZR_lt; lia).
  apply le_IZR. nra.
Qed.

(** What is checked of the noise: that its margins are private, without delta where it has no ends. *)
Lemma noise_accepted : (1 <= far)%Z /\ wide one lowest entries far /\
  (exists d', margin_is_private one y d' entries = true /\ (0 <= Qnum d')%Z /\ Q2R d' <= delta P) /\
  (cap = Some far \/
   cap = None /\ ends_above one entries /\ ends_below one entries /\ (- far <= lowest /\ Z.of_nat (length blues) < far)%Z).
Proof.
  assert (C : check_margin one y d cap (b0 :: blues) (r0 :: reds) = true).
  { unfold check_line in accepted. rewrite !andb_true_iff in accepted. tauto. }
  revert C. unfold check_margin, far, reach. fold entries.
  pose proof (bounded_iff one b0 blues r0 reds) as E. cbv zeta in E. fold entries in E.
  destruct (ends_iff one b0 blues r0 reds) as (N & _). fold entries in N. unfold lowest, line_lowest.
  destruct (bounded _ _ _).
  - destruct E as [E _]. specialize (E eq_refl) as [A B].
    destruct cap as [c|]; rewrite ?andb_true_iff, ?Z.leb_le, ?many_length; cbn [length].
    + intros ((R & _) & C). split; [lia|]. split; [split; [lia|]; auto|]. split; [|left; reflexivity].
      exists d. split; [exact C|]. split; [exact delta_parts | lra].
    + intros (_ & C). split; [lia|]. split; [split; [lia|]; auto|]. split; [|right; repeat split; auto; lia].
      exists d. split; [exact C|]. split; [exact delta_parts | lra].
  - destruct cap as [c|]; [|discriminate]. rewrite !andb_true_iff, Z.leb_le, !Z.eqb_eq, !many_length.
    intros (((L & R) & B) & C).
    split; [exact L|]. split; [|split; [|left; reflexivity]].
    + split; [exact L|]. split; right; [lia|]. rewrite N. lia.
    + exists 0%Q. split; [exact C|]. split; [discriminate|]. of_privacy P. rewrite RMicromega.Q2R_0. assumption.
Qed.

(** Any set of margins, clamped where the noise goes on: Definition 1. *)
Theorem check_line_margin l l' S : seen one entries far S -> (Z.abs (l - l') <= 1)%Z ->
  margin_chance one lowest entries (clipped_to cap l) S <=
  ratio P * margin_chance one lowest entries (clipped_to cap l') S + delta P.
Proof.
  destruct noise_accepted as (_ & W & (d' & C & D & E) & [F | (F & A & B & _)]); rewrite F; cbn [clipped_to]; intros Hs N.
  - apply clipped_chances_private with (y := y) (d := d'); try assumption. apply ratio_least.
  - set (c := (Z.abs l + Z.abs l' + 1)%Z). replace l with (clip c l) by (unfold clip; lia).
    replace l' with (clip c l') by (unfold clip; lia). apply clipped_chances_private with (y := y) (d := d'); try assumption.
    + split; [lia | auto].
    + apply ratio_least.
    + apply bounded_seen; assumption.
Qed.

(** The sign of the margin is the mechanism's answer. *)
Theorem check_line_sign l : margin_chance one lowest entries (clipped_to cap l) (fun k => 0 <=? k)%Z = M l.
Proof.
  destruct noise_accepted as (L & (_ & Wa & Wb) & _ & H). unfold M, clipped_table, margin_chance.
  destruct (ends_iff one b0 blues r0 reds) as (N & _). fold entries in N.
  destruct H as [F | (F & A & B & Lo & Hi)]; rewrite F; cbn [clipped_to].
  - replace (clip far l) with (clip far (clip far l)) at 1 by (unfold clip; lia).
    apply margin_sign; try assumption; [left; unfold clip; lia | |].
    + destruct Wa as [E | W]; [right; exact E | left; fold lowest; lia].
    + destruct Wb as [E | W]; [right; exact E | left]. rewrite N in W. unfold lowest, line_lowest in W. cbn [length] in W. lia.
  - set (c := (Z.abs l + far + 1)%Z). replace l with (clip c l) at 1 by (unfold clip; lia).
    transitivity (table one (b0, blues) (r0, reds) l).
    + apply margin_sign; try assumption; auto; [lia | left; unfold clip; lia].
    + rewrite <- !chance_is_table by exact one_positive. f_equal. unfold chance. f_equal. fold lowest entries. rewrite N.
      unfold clip, lowest, line_lowest in *. cbn [length] in *. lia.
Qed.

(** A p-value: at no level of the other truth is it x of ONE or less more often than that. *)
Theorem check_line_p_value shown x : nearer shown -> (0 <= x)%Z ->
  (forall l, (l <= -1)%Z -> margin_chance one lowest entries (clipped_to cap l)
    (fun k => (0 <=? shown k)%Z && (p_value one lowest entries (shown k) <=? x)%Z) <= from x) /\
  (forall l, (0 <= l)%Z -> margin_chance one lowest entries (clipped_to cap l)
    (fun k => (shown k <? 0)%Z && (p_value one lowest entries (shown k) <=? x)%Z) <= from x).
Proof.
  intros Hs X. destruct noise_accepted as (L & _ & (d' & C & _) & H).
  assert (R : rising one entries = true) by (unfold margin_is_private in C; apply andb_prop in C; apply C).
  destruct (ends_iff one b0 blues r0 reds) as (N & _). fold entries in N. cbn [length] in N.
  assert (K : forall l, ((l <= -1 -> clipped_to cap l <= -1) /\ (0 <= l -> 0 <= clipped_to cap l))%Z).
  { intros l. destruct H as [F | (F & _)]; rewrite F; cbn [clipped_to]; unfold clip; lia. }
  destruct (p_value_sound one lowest entries R) with (shown := shown) (x := x) as [U V]; try assumption;
    [unfold lowest, line_lowest; lia | unfold lowest, line_lowest; rewrite N; cbn [length]; lia |].
  split; intros l Hl; apply part_le; try exact one_positive; [apply U, K, Hl | apply V, K, Hl].
Qed.

(** So the answer alone is private, too. *)
Theorem check_line_private : private P M.
Proof.
  destruct noise_accepted as (L & _ & (d' & C & _) & _).
  assert (K : forall l l', (Z.abs (l - l') <= 1)%Z ->
    M l <= ratio P * M l' + delta P /\ 1 - M l <= ratio P * (1 - M l') + delta P).
  { intros l l' N. rewrite <- !check_line_sign. pose proof (check_line_margin l l' (fun k => 0 <=? k)%Z) as A.
    pose proof (check_line_margin l l' (fun k => negb (0 <=? k))%Z) as B. unfold margin_chance, margin in *.
    unfold lowest, entries in *. rewrite !heard_complement, Z.sub_0_r, <- !part_no in B by exact one_positive.
    split; [apply A | apply B]; try exact N; split; right; intros k K;
      destruct (Z.leb_spec 0 k); destruct (Z.leb_spec 0 (far - 1)), (Z.leb_spec 0 (- far)); try lia; reflexivity. }
  assert (Pr : forall l, probability (M l)).
  { intros l. rewrite <- check_line_sign. eapply margin_chance_probability; eassumption. }
  apply private_steps. split; [exact Pr|].
  intros a c E. simpl in a, c, E. destruct (K c a ltac:(lia)) as [A _]. destruct (K a c ltac:(lia)) as [_ B].
  apply le_step. split; [apply Pr | split; [exact A | lra]].
Qed.

Theorem check_line_optimal (N : mechanism integers) : private P N -> asked b N -> forall l, truth N l < truth M l + / 2 ^ 60.
Proof.
  intros HN A l. destruct noise_accepted as (L & _).
  assert (T : exists tb tr, tops one small_y small_d above d b b0 r0 = Some (tb, tr) /\
    checked_side one small_y small_d above d far b0 blues tb = true /\
    checked_side one small_y small_d above d far r0 reds tr = true).
  { unfold check_line in accepted. cbn [fst snd] in accepted. fold far in accepted.
    destruct (tops _ _ _ _ _ _ _ _) as [[tb tr]|]; rewrite !andb_true_iff in accepted; [|destruct accepted; discriminate].
    exists tb, tr. tauto. }
  destruct T as (tb & tr & T & Sb & Sr). destruct (tops_sound _ _ _ _ _ N T HN A) as [Tb Tr]. pose proof HN as [Np _].
  unfold truth, M, clipped_table, table; cbn [fst snd blue integers].
  change (blue l) with (0 <=? l)%Z. rewrite clip_sign by exact L. destruct (Z.leb_spec 0 l).
  - replace (Z.to_nat (clip far l)) with (Nat.min (Z.to_nat l) (Z.to_nat (far - 1))) by (unfold clip; lia).
    replace (N l) with (N (Z.of_nat (Z.to_nat l))) by (rewrite Z2Nat.id; auto).
    apply (checked_side_near far b0 blues tb (fun n => N (Z.of_nat n))); auto. apply outwards, HN.
  - replace (Z.to_nat (-1 - clip far l)) with (Nat.min (Z.to_nat (-1 - l)) (Z.to_nat (far - 1))) by (unfold clip; lia).
    set (t := entry r0 reds _). replace (1 - (1 - part one t)) with (part one t) by ring. unfold t.
    replace (N l) with (N (-1 - Z.of_nat (Z.to_nat (-1 - l)))%Z) by (rewrite Z2Nat.id by lia; f_equal; lia).
    apply (checked_side_near far r0 reds tr (fun n => 1 - N (-1 - Z.of_nat n)%Z)); auto; [|apply outwards_no, HN].
    intros n; destruct (Np (-1 - Z.of_nat n)%Z); split; lra.
Qed.

End Sound.
