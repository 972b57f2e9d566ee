(** What [check_line] accepts is private with its margin, over all events, and no private mechanism with what was asked of the
    boundary is right more often, at any level, by 2^-60 or more. What exactly it accepts is in LineComplete.v. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz List Bool.
From Duotone Require Import Step Graph LineMechanism Table Margin MarginPrivate LineCheck.
From Duotone Require Export LineSides.
Import ListNotations.
Open Scope R_scope.

(** To what noise is added: null in a certificate is that levels are not clipped. *)
Definition clipped_to (cap : option Z) (l : Z) : Z := match cap with Some cap => clip cap l | None => l end.

Lemma last_nth {A} (l : list A) d : last l d = nth (length l - 1) l d.
Proof.
  induction l as [| a [| a' l] IH]; try reflexivity. change (last (a :: a' :: l) d) with (last (a' :: l) d). rewrite IH.
  cbn [length nth]. replace (S (S (length l)) - 1)%nat with (S (S (length l) - 1)) by lia. reflexivity.
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
  destruct noise_accepted as (L & _). unfold check_line in accepted. apply andb_prop in accepted as [_ S].
  apply (sides_optimal one _ _ _ P) with (5 := S); try assumption.
  - intros x top. apply ceiling_sound; assumption.
  - intros t x _. apply balanced_bound.
Qed.

End Sound.
