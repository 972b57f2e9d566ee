(** What the check of a line's two sides proves, for any definition of privacy whose integers are right: its table is private,
    and no private mechanism with what was asked of the boundary is right more often, at any level, by 2^-60 or more. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz List Bool.
From Duotone Require Import Closeness Graph LineMechanism Table Margin LineCheck.
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

Section Sides.
Variables (one : Z) (may : Z -> Z -> bool) (rise balanced : Z -> Z) (P : closeness).
Hypothesis one_positive : (0 < one)%Z.
(** What is asked of a definition's integers: both bounds are bounds. *)
Hypothesis rise_sound : forall x top, probability x -> x <= part one top -> step P x <= part one (rise top).
Hypothesis balanced_sound : forall t x, best_balanced one may t = true ->
  probability x -> x <= step P (1 - x) -> x <= part one (balanced t).

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
Lemma side_near here rest top last x : side one may rise here rest top = Some last ->
  probability x -> x <= from top ->
  (forall n, (n <= length rest)%nat -> steps P n x < from (entry here rest n) + / 2 ^ 60) /\
  steps P (length rest) x <= from last.
Proof.
  revert here top x; induction rest as [| t rest IH]; intros here top x H Hx T; cbn [side] in H;
    (destruct (close one top here) eqn:C; [|discriminate]).
  - injection H as <-. split; [|exact T]. intros [| n] Hn; cbn [length] in Hn; [|lia]. exact (close_sound top here x C T).
  - destruct (tight _ _ t here); [|discriminate].
    assert (S1 : forall n, steps P (S n) x = steps P n (step P x)) by (induction n; simpl in *; congruence).
    destruct (IH t (rise top) (step P x) H) as [A B]; [apply step_probability, Hx | |].
    { apply rise_sound; auto. }
    cbn [length]. rewrite S1. split; [|exact B]. intros [| n] Hn; [exact (close_sound top here x C T)|].
    rewrite S1. apply A. lia.
Qed.

(** ... also further out than levels are told apart. *)
Lemma checked_side_near far here rest top (f : nat -> R) :
  checked_side one may rise far here rest top = true ->
  (forall n, probability (f n)) -> (forall n, f (S n) <= step P (f n)) -> f 0%nat <= from top ->
  forall n, f n < from (entry here rest (Nat.min n (Z.to_nat (far - 1)))) + / 2 ^ 60.
Proof.
  unfold checked_side. intros H Hf F T n. destruct (side _ _ _ _ _ _) as [last|] eqn:E; [|discriminate].
  rewrite further_entry in H. destruct (side_near _ _ _ _ _ E (Hf 0%nat) T) as [A B].
  assert (G : f n <= steps P n (f 0%nat)).
  { induction n as [| n IH]; simpl; [lra|]. eapply Rle_trans; [apply F | apply step_increases, IH]. }
  eapply Rle_lt_trans; [exact G|]. clear G. set (x := f 0%nat) in *. pose proof (Hf 0%nat) as Hx. fold x in Hx.
  assert (Most : steps P n x <= from (if rise last =? last then last else one)%Z).
  { destruct (Z.eqb_spec (rise last) last) as [S | _].
    - destruct (Nat.le_gt_cases n (length rest)) as [I | I].
      + eapply Rle_trans; [apply steps_extend; eassumption | exact B].
      + assert (K : forall m, steps P (m + length rest) x <= from last).
        { induction m as [| m IH]; [exact B|]. cbn [Nat.add steps]. unfold from; rewrite <- S.
          apply rise_sound; auto. apply steps_probability, Hx. }
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
  tops one may rise balanced b b0 r0 = Some (blue_top, red_top) ->
  private P N -> asked b N -> N 0%Z <= from blue_top /\ 1 - N (-1)%Z <= from red_top.
Proof.
  intros H HN A. destruct (across N HN) as [A0 A1]. pose proof HN as [Np _].
  destruct (Np 0%Z) as [? ?], (Np (-1)%Z) as [? ?]. unfold tops, fixed_value in H. destruct b as [| m |]; simpl in A.
  - destruct (Z.eqb_spec r0 b0); [|discriminate]. destruct (_ && _) eqn:E in H; [|discriminate]. injection H as <- <-.
    apply andb_prop in E as [E _]. assert (B : N 0%Z <= from (balanced b0)).
    { apply balanced_sound; [exact E | split; lra|]. replace (1 - N 0%Z) with (N (-1)%Z) by lra. exact A0. }
    split; [exact B | lra].
  - destruct (tight one may r0 (one - b0)); [|discriminate]. destruct (_ && _) eqn:E in H; [|discriminate].
    injection H as <- <-. rewrite !andb_true_iff, Z.eqb_eq in E. destruct E as [_ ->].
    split; [rewrite A; apply part_up|]. eapply Rle_trans; [exact A1|].
    apply rise_sound; [split; lra|]. rewrite <- part_no by assumption. rewrite A.
    pose proof (part_down m); unfold from in *; lra.
  - destruct (_ && _) eqn:E in H; [|discriminate]. injection H as <- <-. split.
    + eapply Rle_trans; [exact A0|]. apply rise_sound; [apply HN|]. rewrite A; unfold part, Rdiv; rewrite Rmult_0_l; lra.
    + unfold from, part. replace (IZR one / IZR one) with 1 by (field; lra). lra.
Qed.

Variables (far : Z) (b : boundary) (b0 r0 : Z) (blues reds : list Z) (blue_error red_error : list Q).
Hypothesis far_enough : (1 <= far)%Z.
Hypothesis accepted : check_sides one may rise balanced far b (b0 :: blues) (r0 :: reds) blue_error red_error = true.

Let M := clipped_table one far (b0, blues) (r0, reds).

Theorem sides_optimal (N : mechanism integers) : private P N -> asked b N -> forall l, truth N l < truth M l + / 2 ^ 60.
Proof.
  intros HN A l.
  assert (T : exists tb tr, tops one may rise balanced b b0 r0 = Some (tb, tr) /\
    checked_side one may rise far b0 blues tb = true /\ checked_side one may rise far r0 reds tr = true).
  { unfold check_sides in accepted.
    destruct (tops _ _ _ _ _ _ _) as [[tb tr]|]; rewrite !andb_true_iff in accepted; [|destruct accepted; discriminate].
    exists tb, tr. tauto. }
  destruct T as (tb & tr & T & Sb & Sr). destruct (tops_sound _ _ _ _ _ N T HN A) as [Tb Tr]. pose proof HN as [Np _].
  unfold truth, M, clipped_table, table; cbn [fst snd blue integers].
  change (blue l) with (0 <=? l)%Z. rewrite clip_sign by exact far_enough. destruct (Z.leb_spec 0 l).
  - replace (Z.to_nat (clip far l)) with (Nat.min (Z.to_nat l) (Z.to_nat (far - 1))) by (unfold clip; lia).
    replace (N l) with (N (Z.of_nat (Z.to_nat l))) by (rewrite Z2Nat.id; auto).
    apply (checked_side_near far b0 blues tb (fun n => N (Z.of_nat n))); auto. apply outwards, HN.
  - replace (Z.to_nat (-1 - clip far l)) with (Nat.min (Z.to_nat (-1 - l)) (Z.to_nat (far - 1))) by (unfold clip; lia).
    set (t := entry r0 reds _). replace (1 - (1 - part one t)) with (part one t) by ring. unfold t.
    replace (N l) with (N (-1 - Z.of_nat (Z.to_nat (-1 - l)))%Z) by (rewrite Z2Nat.id by lia; f_equal; lia).
    apply (checked_side_near far r0 reds tr (fun n => 1 - N (-1 - Z.of_nat n)%Z)); auto; [|apply outwards_no, HN].
    intros n; destruct (Np (-1 - Z.of_nat n)%Z); split; lra.
Qed.

(** ** Its own privacy *)

(** ... and what may stand beside each other is private. *)
Hypothesis may_sound : forall p q, (0 <= p <= one)%Z -> (0 <= q <= one)%Z -> may p q = true ->
  part one p <= step P (part one q) /\ part one q <= step P (part one p).

Lemma side_private here rest top last : side one may rise here rest top = Some last -> in_range one (here :: rest) = true ->
  forall n, from (entry here rest (S n)) <= step P (from (entry here rest n)) /\
            from (entry here rest n) <= step P (from (entry here rest (S n))).
Proof.
  revert here top; induction rest as [| t rest IH]; intros here top H R n; cbn [side] in H;
    (destruct (close one top here); [|discriminate]); pose proof (entry_range here _ 0 R) as R0; cbn [entry] in R0.
  - destruct (part_probability one one_positive here R0). destruct n; cbn [entry]; split; apply step_extends; assumption.
  - destruct (tight one may t here) eqn:T; [|discriminate]. unfold tight in T. apply andb_prop in T as [T _].
    assert (R' : in_range one (t :: rest) = true).
    { unfold in_range in *. cbn [forallb] in R. apply andb_prop in R. apply R. }
    pose proof (entry_range t _ 0 R') as R1. destruct n as [|n]; [|exact (IH t _ H R' n)]. cbn [entry] in *.
    replace (entry t rest 0) with t in * by (destruct rest; reflexivity). apply may_sound; assumption.
Qed.

Theorem sides_private : private P M.
Proof.
  assert (T : exists tb tr lb lr, tops one may rise balanced b b0 r0 = Some (tb, tr) /\
    side one may rise b0 blues tb = Some lb /\ side one may rise r0 reds tr = Some lr /\
    in_range one (b0 :: blues) = true /\ in_range one (r0 :: reds) = true).
  { unfold check_sides, checked_side in accepted. rewrite !andb_true_iff in accepted. destruct accepted as [R S].
    destruct (tops one may rise balanced b b0 r0) as [[tb tr]|]; [|discriminate].
    destruct (side one may rise b0 blues tb) as [lb|] eqn:Eb; [|discriminate].
    destruct (side one may rise r0 reds tr) as [lr|] eqn:Er; [|rewrite andb_false_r in S; discriminate].
    exists tb, tr, lb, lr. tauto. }
  destruct T as (tb & tr & lb & lr & T & Sb & Sr & Rb & Rr).
  pose proof (side_private _ _ _ _ Sb Rb) as Eb. pose proof (side_private _ _ _ _ Sr Rr) as Er.
  assert (Pb : forall n, probability (from (entry b0 blues n))) by (intros; apply part_probability, entry_range; assumption).
  assert (Pr : forall n, probability (from (entry r0 reds n))) by (intros; apply part_probability, entry_range; assumption).
  pose proof (entry_range _ _ 0 Rb) as B0. pose proof (entry_range _ _ 0 Rr) as R0.
  replace (entry b0 blues 0) with b0 in B0 by (destruct blues; reflexivity).
  replace (entry r0 reds 0) with r0 in R0 by (destruct reds; reflexivity).
  (* across the boundary *)
  assert (K : from b0 <= step P (1 - from r0) /\ 1 - from r0 <= step P (from b0)).
  { pose proof (part_probability one one_positive b0 B0) as Q. pose proof (part_probability one one_positive r0 R0) as Q'.
    unfold from. rewrite (part_no one one_positive r0). unfold tops, fixed_value in T. destruct b as [| m |].
    - destruct (Z.eqb_spec r0 b0) as [->|]; [|discriminate]. destruct (_ && _) eqn:E in T; [|discriminate].
      apply andb_prop in E as [E _]. unfold best_balanced in E. apply andb_prop in E as [E _].
      apply may_sound; try assumption; lia.
    - destruct (tight one may r0 (one - b0)) eqn:E; [|discriminate]. unfold tight in E. apply andb_prop in E as [E _].
      destruct (may_sound r0 (one - b0)%Z R0 ltac:(lia) E) as [X Y].
      rewrite <- part_no in X, Y |- * by exact one_positive. destruct Q, Q'. split.
      + apply step_symmetric in X; lra.
      + apply step_symmetric in Y; try lra; replace (1 - (1 - part one b0)) with (part one b0) in Y by ring; exact Y.
    - destruct (Z.eqb_spec r0 one) as [->|]; [|discriminate]. destruct (tight one may b0 0) eqn:E; [|discriminate].
      unfold tight in E. apply andb_prop in E as [E _]. rewrite Z.sub_diag. apply may_sound; try assumption; lia. }
  (* one level up, and back *)
  assert (Up : forall l, let M := table one (b0, blues) (r0, reds) in
    probability (M l) /\ M (l + 1)%Z <= step P (M l) /\ M l <= step P (M (l + 1)%Z)).
  { intros l. unfold table; cbn [fst snd]. fold (from (entry b0 blues (Z.to_nat l))).
    destruct (Z.leb_spec 0 l), (Z.leb_spec 0 (l + 1)); try lia.
    - replace (Z.to_nat (l + 1)) with (S (Z.to_nat l)) by lia. split; [apply Pb | apply Eb].
    - replace l with (-1)%Z by lia. cbn [Z.to_nat Z.add Z.sub Z.opp Pos.add Z.pos_sub]. change (Z.to_nat (-1 - -1)) with 0%nat.
      replace (entry b0 blues 0) with b0 by (destruct blues; reflexivity).
      replace (entry r0 reds 0) with r0 by (destruct reds; reflexivity). fold (from r0) (from b0).
      pose proof (part_probability one one_positive r0 R0) as [? ?]. split; [unfold from; split; lra | exact K].
    - replace (Z.to_nat (-1 - l)) with (S (Z.to_nat (-1 - (l + 1)))) by lia. set (n := Z.to_nat _).
      fold (from (entry r0 reds (S n))) (from (entry r0 reds n)).
      pose proof (Pr n) as [? ?]. pose proof (Pr (S n)) as [? ?]. destruct (Er n) as [A C].
      split; [split; lra|]. rewrite <- !step_symmetric by lra. split; assumption. }
  apply private_steps; split; [intros l; apply Up|].
  intros a c E. simpl in a, c, E. unfold M, clipped_table.
  pose proof (clip_near far a c ltac:(lia)) as N. destruct (Z.eq_dec (clip far a) (clip far c)) as [-> | D].
  - destruct (proj1 (Up (clip far c))). apply step_extends; assumption.
  - assert (clip far c = clip far a + 1 \/ clip far a = clip far c + 1)%Z as [-> | ->] by lia; apply Up.
Qed.

End Sides.
