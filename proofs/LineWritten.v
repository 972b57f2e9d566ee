(** What the package writes of a line is accepted: `_side` and `line_table` in the code go outwards from the boundary by steps
    rounded down, computed as in FastStep.v, until nothing changes, or, where what they keep to has no delta, to twice a cap;
    they keep the largest gap to the bound from above, and take more bits, or give up, unless it is below 2^-60 and the margin
    is private. The claimed errors are floats, correctly rounded; that they are honest is a hypothesis here. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz List Bool.
From Duotone Require Import Step Table Margin LineCheck LineCertificate GraphCheck Balanced Rounding LineComplete.
Import ListNotations.
Open Scope Z_scope.

Section Written.
(** ONE; the definition; what the table keeps to; a bound on the ratio from above. *)
Variables (one : Z) (y d small_y small_d above : Q).
Notation down := (step_down one small_y small_d).
Notation rise := (ceiling one above d).
Notation may := (allowed one small_y small_d).

(** So many further entries, the largest gap, and what the bound has come to. *)
Fixpoint climb (n : nat) (here top : Z) : list Z * Z * Z :=
  match n with
  | O => ([], top - here, top)
  | S n => let '(rest, gap, last) := climb n (down here) (rise top) in (down here :: rest, Z.max (top - here) gap, last)
  end.

(** How many steps change anything; None where they are more than [fuel]. *)
Fixpoint settles (fuel : nat) (here : Z) : option nat :=
  if down here =? here then Some 0%nat
  else match fuel with O => None | S fuel => option_map S (settles fuel (down here)) end.

(** A side with so many further entries, and by how much it may be off; levels from [far] on are answered alike. *)
Definition write_side (far : Z) (n : nat) (here top : Z) : list Z * Z :=
  let '(rest, gap, last) := climb n here top in
  (rest, Z.max gap ((if rise last =? last then last else one) - further (far - 1) here rest)).

(** The boundary entries, and bounds on them from above. *)
Definition balance_down : Z :=
  (Qnum small_y * Zpos (Qden small_d) + Qnum small_d * Zpos (Qden small_y)) * one
  / (Zpos (Qden small_d) * (Zpos (Qden small_y) + Qnum small_y)).

Definition starts (b : boundary) : (Z * Z) * (Z * Z) :=
  match b with
  | Value m => ((floor_of one m, ceiling_of one m), (down (one - floor_of one m), rise (one - floor_of one m)))
  | Balanced => ((balance_down, balanced_top one above d), (balance_down, balanced_top one above d))
  | Selection => ((down 0, rise 0), (one, one))
  end.

(** A table of both sides and its cap, if it loses little enough and its margin is private: by the definition where both ends
    are certain, else without delta. *)
Definition finish (b : boundary) (n_blue n_red : nat) (cap : Z) : option (Z * list Z * list Z) :=
  let '((b0, blue_top), (r0, red_top)) := starts b in
  let (blues, gap) := write_side cap n_blue b0 blue_top in
  let (reds, gap') := write_side cap n_red r0 red_top in
  let (blue, red) := (b0 :: blues, r0 :: reds) in
  let private := margin_is_private one y (if bounded one blue red then d else 0%Q) (line_entries one blue red) in
  if private && (Z.max gap gap' <? one / LOSS) then Some (cap, blue, red) else None.

(** `line_table`, at so many bits: [almost] is from how many people on answers are almost certain, where there is no delta. *)
Definition write_line (fuel : nat) (b : boundary) (almost : Z) : option (Z * list Z * list Z) :=
  if Qnum small_d =? 0
  then finish b (Z.to_nat (2 * almost - 2)) (Z.to_nat (2 * almost - 2)) almost
  else let '((b0, _), (r0, _)) := starts b in
       match settles fuel b0, settles fuel r0 with
       | Some n_blue, Some n_red => finish b n_blue n_red (Z.of_nat (n_blue + n_red) + 1)
       | _, _ => None
       end.

Variable P : privacy.
Hypotheses (ratio_P : ratio P = Q2R small_y) (delta_P : delta P = Q2R small_d).
Hypotheses (one_positive : 0 < one) (parts_enough : (LOSS | one)).
(** A delta is at least one part of ONE: that of [shrunk] is. *)
Hypothesis delta_part : Qnum small_d = 0 \/ (1 <= delta P * IZR one)%R.

Lemma step_down_range t : 0 <= t <= one -> 0 <= down t <= one.
Proof.
  intros H. eapply (down_range one one_positive); [|apply (step_down_is one one_positive small_y small_d P); assumption].
  apply step_probability, part_probability; assumption.
Qed.

Lemma step_down_tight t : 0 <= t <= one -> tight one may (down t) t = true.
Proof.
  intros H. apply (tight_down one one_positive small_y small_d P ratio_P delta_P); [apply step_down_range, H | exact H|].
  apply step_down_is; assumption.
Qed.

Lemma climb_length n here top : length (fst (fst (climb n here top))) = n.
Proof.
  revert here top; induction n as [| n IH]; intros here top; cbn [climb]; [reflexivity|].
  specialize (IH (down here) (rise top)). destruct (climb n _ _) as [[rest gap] last]. simpl in *. congruence.
Qed.

Lemma climb_range n here top : 0 <= here <= one -> in_range one (here :: fst (fst (climb n here top))) = true.
Proof.
  assert (R : forall t, 0 <= t <= one -> (0 <=? t) && (t <=? one) = true) by
    (intros; apply andb_true_iff; rewrite !Z.leb_le; lia).
  revert here top; induction n as [| n IH]; intros here top H; cbn [climb]; unfold in_range in *; cbn [forallb];
    [simpl; rewrite R by exact H; reflexivity|].
  specialize (IH (down here) (rise top) (step_down_range _ H)). destruct (climb n _ _) as [[rest gap] last]. cbn [fst] in *.
  rewrite R by exact H. exact IH.
Qed.

(** A side that is written passes, where its gap is small. *)
Lemma climb_passes n here top : 0 <= here <= one -> snd (fst (climb n here top)) < one / LOSS ->
  side one may rise here (fst (fst (climb n here top))) top = Some (snd (climb n here top)).
Proof.
  revert here top; induction n as [| n IH]; intros here top H; cbn [climb].
  - cbn [fst snd side]. unfold close. intros G. rewrite (proj2 (Z.ltb_lt _ _)) by exact G. reflexivity.
  - specialize (IH (down here) (rise top) (step_down_range _ H)). destruct (climb n _ _) as [[rest gap] last].
    cbn [fst snd side] in *. intros G. unfold close at 1.
    rewrite (proj2 (Z.ltb_lt _ _)), step_down_tight by (assumption || lia). apply IH. lia.
Qed.

Lemma written_side far n here top rest gap : 0 <= here <= one -> write_side far n here top = (rest, gap) -> gap < one / LOSS ->
  checked_side one may rise far here rest top = true /\ in_range one (here :: rest) = true /\ length rest = n.
Proof.
  intros H. unfold write_side. pose proof (climb_passes n here top H) as C. pose proof (climb_range n here top H) as R.
  pose proof (climb_length n here top) as L. destruct (climb n here top) as [[rest' gap'] last]. cbn [fst snd] in *.
  intros [= <- <-] G. split; [|split; assumption]. unfold checked_side. rewrite C by lia. unfold close. apply Z.ltb_lt. lia.
Qed.

(** With a delta, what a step does not change is ONE. *)
Lemma settled_at t : (1 <= delta P * IZR one)%R -> 0 <= t <= one -> down t = t -> t = one.
Proof.
  intros D H E. destruct (Z.eq_dec t one) as [F | F]; [exact F|]. exfalso. of_privacy P.
  pose proof (IZR_lt _ _ one_positive) as One. pose proof (part_probability one one_positive t H) as [T0 T1].
  destruct (step_down_is one one_positive small_y small_d P ratio_P delta_P t) as [_ U]. rewrite E in U.
  assert (N : (part one (t + 1) = part one t + / IZR one)%R) by (unfold part; rewrite plus_IZR; field; lra).
  assert (L : (/ IZR one <= delta P)%R).
  { apply Rmult_le_reg_r with (IZR one); [exact One|]. rewrite Rinv_l by lra. exact D. }
  assert (M : (part one (t + 1) <= 1)%R).
  { rewrite <- (part_one one one_positive). apply part_le; [exact one_positive | lia]. }
  enough (part one t + / IZR one <= step P (part one t))%R by lra. apply le_step. rewrite N in M.
  assert (0 <= / IZR one)%R by (left; apply Rinv_0_lt_compat, One). repeat split; nra.
Qed.

Lemma settles_at fuel n here top : (1 <= delta P * IZR one)%R -> 0 <= here <= one -> settles fuel here = Some n ->
  last (here :: fst (fst (climb n here top))) 0 = one.
Proof.
  intros D. revert n here top; induction fuel as [| fuel IH]; intros n here top H; cbn [settles];
    destruct (Z.eqb_spec (down here) here) as [E | _]; try discriminate.
  1, 2: intros [= <-]; cbn; apply settled_at; assumption.
  destruct (settles fuel (down here)) as [m|] eqn:S; [|discriminate]. intros [= <-].
  specialize (IH m (down here) (rise top) (step_down_range _ H) S). cbn [climb].
  destruct (climb m (down here) (rise top)) as [[rest gap] l]. exact IH.
Qed.

(** Without, nothing but ONE comes to ONE. *)
Lemma never_certain n here top : delta P = 0%R -> 0 <= here <= one ->
  last (here :: fst (fst (climb n here top))) 0 = one -> here = one.
Proof.
  intros D. revert here top; induction n as [| n IH]; intros here top H; cbn [climb]; [auto|].
  specialize (IH (down here) (rise top) (step_down_range _ H)).
  destruct (climb n (down here) (rise top)) as [[rest gap] l]. cbn [fst] in *. intros L. specialize (IH L). clear L.
  destruct (Z.eq_dec here one) as [F | F]; [exact F|]. exfalso. of_privacy P.
  destruct (step_down_is one one_positive small_y small_d P ratio_P delta_P here) as [U _].
  rewrite IH, part_one in U by assumption. apply le_step in U.
  pose proof (proj1 (part_lt one one_positive here one) ltac:(lia)) as V. rewrite part_one in V by assumption. lra.
Qed.

Lemma balance_down_is : rounded_down one (balance P) balance_down.
Proof.
  pose proof (Q2R_parts small_y) as Ey. pose proof (Q2R_parts small_d) as Ed.
  rewrite <- ratio_P in Ey. rewrite <- delta_P in Ed.
  of_privacy P. assert (0 < IZR (Zpos (Qden small_y)))%R by (apply IZR_lt; lia).
  assert (0 < IZR (Zpos (Qden small_d)))%R by (apply IZR_lt; lia).
  assert (0 < IZR (Qnum small_y))%R by nra.
  unfold balance_down. apply (down_quotient one one_positive); [apply lt_IZR; rewrite mult_IZR, plus_IZR; nra|].
  rewrite !mult_IZR, !plus_IZR, !mult_IZR, <- Ey, <- Ed. unfold balance. field; lra.
Qed.

Lemma starts_range b b0 bt r0 rt : match b with Value m => probability (Q2R m) | _ => True end ->
  starts b = ((b0, bt), (r0, rt)) -> 0 <= b0 <= one /\ 0 <= r0 <= one.
Proof.
  intros V S.
  assert (F : forall m, probability (Q2R m) -> 0 <= floor_of one m <= one) by
    (intros m Hm; eapply (down_range one one_positive); [exact Hm | apply floor_is; assumption]).
  assert (B : 0 <= balance_down <= one) by
    (eapply (down_range one one_positive); [apply (balance_probability P) | apply balance_down_is]).
  destruct b as [| m |]; injection S as <- <- <- <-; [auto | |split; [apply step_down_range|]; lia].
  specialize (F m V). split; [exact F | apply step_down_range; lia].
Qed.

(** Without a delta, not both sides begin at ONE. *)
Lemma starts_below b b0 bt r0 rt : match b with Value m => probability (Q2R m) | _ => True end ->
  starts b = ((b0, bt), (r0, rt)) -> delta P = 0%R -> ~ (b0 = one /\ r0 = one).
Proof.
  intros V S D [B R]. of_privacy P.
  assert (Z0 : down 0 = 0).
  { apply (down_once one one_positive (step P (part one 0))); [apply step_down_is; assumption|].
    assert (E : step P (part one 0) = 0%R).
    { apply Rle_antisym; [|apply step_probability, part_probability; [exact one_positive | lia]].
      pose proof (Rle_refl (step P (part one 0))) as L. apply le_step in L. rewrite part_0 in *. lra. }
    rewrite E. split; [rewrite part_0; lra|]. rewrite <- (part_0 one). apply part_lt; [exact one_positive | lia]. }
  destruct b as [| m |]; injection S as <- <- <- <-.
  - destruct balance_down_is as [L _]. rewrite B, part_one in L by assumption. pose proof (balance_is P). nra.
  - rewrite B, Z.sub_diag, Z0 in R. lia.
  - rewrite Z0 in B. lia.
Qed.

Lemma starts_tops b b0 bt r0 rt : match b with Value m => probability (Q2R m) | _ => True end ->
  starts b = ((b0, bt), (r0, rt)) -> close one bt b0 = true ->
  tops one may rise (fun _ => balanced_top one above d) b b0 r0 = Some (bt, rt).
Proof.
  intros V S C. assert (even : (2 | one)) by (destruct parts_enough as [k ->]; exists (k * 2 ^ 59); unfold LOSS; lia).
  pose proof (starts_range b b0 bt r0 rt V S) as [B R].
  destruct b as [| m |]; injection S as <- <- <- <-; unfold tops, fixed_value.
  - assert (X : best_balanced one may balance_down = true) by
      (apply (best_balanced_iff one one_positive small_y small_d P); auto using balance_down_is).
    rewrite Z.eqb_refl, X, C. reflexivity.
  - pose proof (step_down_tight (one - floor_of one m) ltac:(lia)) as T. rewrite T, C, Z.eqb_refl.
    rewrite (proj2 (value_iff m) V). reflexivity.
  - pose proof (step_down_tight 0 ltac:(lia)) as T. rewrite T, !Z.eqb_refl. reflexivity.
Qed.

(** Whatever table is written passes the check; and one whose noise has ends also where levels are not clipped. *)
Theorem written_accepted fuel b almost cap blue red blue_error red_error :
  match b with Value m => probability (Q2R m) | _ => True end -> 1 <= almost ->
  write_line fuel b almost = Some (cap, blue, red) ->
  all_honest one blue_error blue = true -> all_honest one red_error red = true ->
  check_line one y above d (small_y, small_d) (Some cap) b blue red blue_error red_error = true.
Proof.
  intros V A W Eb Er. destruct (starts b) as [[b0 bt] [r0 rt]] eqn:S. destruct (starts_range _ _ _ _ _ V S) as [Rb Rr].
  (* the two sides, however long they are *)
  assert (X : exists n_blue n_red, finish b n_blue n_red cap = Some (cap, blue, red) /\
    (Qnum small_d = 0 /\ 1 <= cap /\ n_blue = Z.to_nat (2 * cap - 2) /\ n_red = Z.to_nat (2 * cap - 2) \/
     Qnum small_d <> 0 /\ cap = Z.of_nat (n_blue + n_red) + 1 /\ settles fuel b0 = Some n_blue /\
     settles fuel r0 = Some n_red)).
  { unfold write_line in W. rewrite S in W.
    assert (C : forall n m c, finish b n m c = Some (cap, blue, red) -> c = cap).
    { unfold finish. intros n m c. rewrite S. destruct (write_side c n b0 bt), (write_side c m r0 rt).
      destruct (_ && _); [intros [= <- _ _]; reflexivity | discriminate]. }
    destruct (Z.eqb_spec (Qnum small_d) 0) as [D | D].
    - exists (Z.to_nat (2 * almost - 2)), (Z.to_nat (2 * almost - 2)). rewrite <- (C _ _ _ W).
      rewrite <- (C _ _ _ W) in W. auto 8.
    - destruct (settles fuel b0) as [n|] eqn:Sb; [|discriminate]. destruct (settles fuel r0) as [m|] eqn:Sr; [|discriminate].
      exists n, m. rewrite <- (C _ _ _ W). rewrite <- (C _ _ _ W) in W. auto 8. }
  clear W A. destruct X as (n & m & W & L). unfold finish in W. rewrite S in W.
  destruct (write_side cap n b0 bt) as [blues gap] eqn:Wb. destruct (write_side cap m r0 rt) as [reds gap'] eqn:Wr.
  destruct (_ && _) eqn:G in W; [|discriminate]. injection W as <- <-. apply andb_prop in G as [Private G]. apply Z.ltb_lt in G.
  destruct (written_side _ _ _ _ _ _ Rb Wb ltac:(lia)) as (Sb & Ib & Lb).
  destruct (written_side _ _ _ _ _ _ Rr Wr ltac:(lia)) as (Sr & Ir & Lr).
  unfold check_line, check_sides. rewrite Ib, Ir, Eb, Er. cbn [fst snd].
  rewrite (starts_tops b b0 bt r0 rt V S (beside_boundary _ _ _ _ _ _ _ _ _ Sb)). cbn [reach]. rewrite Sb, Sr.
  rewrite !andb_true_r. cbn [andb].
  (* the ends of the noise *)
  assert (Ends : last (b0 :: blues) 0 = last (b0 :: fst (fst (climb n b0 bt))) 0 /\
                 last (r0 :: reds) 0 = last (r0 :: fst (fst (climb m r0 rt))) 0).
  { unfold write_side in Wb, Wr. destruct (climb n b0 bt) as [[? ?] ?], (climb m r0 rt) as [[? ?] ?].
    injection Wb as -> _. injection Wr as -> _. split; reflexivity. }
  destruct Ends as [End_b End_r]. unfold check_margin, bounded in *. rewrite End_b, End_r in *.
  destruct L as [(D & C & N & M) | (D & C & N & M)].
  - assert (D0 : delta P = 0%R) by (rewrite delta_P; unfold Q2R; rewrite D; lra).
    destruct (Z.eqb_spec (last (r0 :: fst (fst (climb m r0 rt))) 0) one) as [Or | _];
      [destruct (Z.eqb_spec (last (b0 :: fst (fst (climb n b0 bt))) 0) one) as [Ob | _]|]; cbn [andb] in *.
    + exfalso. apply (starts_below b b0 bt r0 rt V S D0). split; eapply never_certain; eassumption.
    + rewrite Private, !many_length. cbn [length]. rewrite andb_true_r, !andb_true_iff, Z.leb_le, !Z.eqb_eq. lia.
    + rewrite Private, !many_length. cbn [length]. rewrite andb_true_r, !andb_true_iff, Z.leb_le, !Z.eqb_eq. lia.
  - destruct delta_part as [D' | D']; [contradiction|].
    rewrite (settles_at fuel n b0 bt D' Rb N), (settles_at fuel m r0 rt D' Rr M), !Z.eqb_refl in *. cbn [andb] in *.
    rewrite Private, !many_length. cbn [length]. rewrite andb_true_r, andb_true_iff, !Z.leb_le. lia.
Qed.

End Written.

(** What [shrunk] keeps of a delta is more than a part of ONE. *)
Lemma shrunk_part bits y d : 64 <= bits ->
  let small_d := snd (shrunk bits y d) in Qnum small_d = 0 \/ (1 <= Q2R small_d * IZR (2 ^ bits))%R.
Proof.
  intros B. cbv zeta. unfold shrunk. destruct (Z.leb_spec (Zpos (Qden d)) (Qnum d * 2 ^ (bits / 2))) as [L | L]; cbn [snd];
    [right | left; reflexivity].
  pose proof (Z.div_mod bits 2 ltac:(lia)) as M2. pose proof (Z.mod_pos_bound bits 2 ltac:(lia)).
  pose proof (Z.div_mod (3 * bits) 4 ltac:(lia)) as M4. pose proof (Z.mod_pos_bound (3 * bits) 4 ltac:(lia)).
  set (h := bits / 2) in *. set (t := 3 * bits / 4) in *.
  assert (Hh : 0 < 2 ^ h) by (apply Z.pow_pos_nonneg; lia). assert (Ht : 0 < 2 ^ t) by (apply Z.pow_pos_nonneg; lia).
  assert (Eh : 2 ^ bits = 2 ^ h * 2 ^ (bits - h)) by (rewrite <- Z.pow_add_r by lia; f_equal; lia).
  assert (Et : 2 ^ bits = 2 ^ t * 2 ^ (bits - t)) by (rewrite <- Z.pow_add_r by lia; f_equal; lia).
  assert (K : 1 + 2 ^ (bits - t) <= 2 ^ (bits - h)).
  { assert (2 ^ (bits - t + 1) <= 2 ^ (bits - h)) by (apply Z.pow_le_mono_r; lia).
    assert (0 < 2 ^ (bits - t)) by (apply Z.pow_pos_nonneg; lia). rewrite Z.pow_add_r in * by lia. lia. }
  apply IZR_le in K. rewrite plus_IZR in K. apply IZR_lt in Hh, Ht. apply IZR_le in L. rewrite mult_IZR in L.
  pose proof (Q2R_parts d) as D. assert (Dd : (0 < IZR (Zpos (Qden d)))%R) by (apply IZR_lt; lia). rewrite <- D in L.
  assert (L' : (1 <= Q2R d * IZR (2 ^ h))%R) by (apply Rmult_le_reg_r with (IZR (Zpos (Qden d))); lra).
  rewrite Q2R_minus. replace (Q2R (1 # Z.to_pos (2 ^ t))) with (/ IZR (2 ^ t))%R by
    (unfold Q2R; cbn [Qnum Qden]; rewrite Z2Pos.id by (apply lt_IZR; exact Ht); ring).
  assert (U : (/ IZR (2 ^ t) * IZR (2 ^ bits) = IZR (2 ^ (bits - t)))%R) by (rewrite Et, mult_IZR; field; lra).
  assert (V : (Q2R d * IZR (2 ^ bits) >= IZR (2 ^ (bits - h)))%R).
  { rewrite Eh, mult_IZR. assert (0 < IZR (2 ^ (bits - h)))%R by (apply IZR_lt, Z.pow_pos_nonneg; lia). nra. }
  lra.
Qed.
