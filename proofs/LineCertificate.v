(** What [check_line] accepts is private, and no private mechanism with what was asked of the boundary is right more often, at
    any level, by 2^-60 or more. What exactly it accepts is in LineComplete.v. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz List Bool.
From Duotone Require Import Step Graph LineMechanism Table LineCheck.
Import ListNotations.
Open Scope R_scope.

(** A side of a table, from the boundary outwards; beyond its end the last entry stays. *)
Fixpoint entry (here : Z) (rest : list Z) (n : nat) {struct n} : Z :=
  match n, rest with S n, t :: rest => entry t rest n | _, _ => here end.

(** Where yes has so many parts of ONE at each level. *)
Definition table one (blue red : Z * list Z) : mechanism integers := fun l =>
  if Z.leb 0 l then part one (entry (fst blue) (snd blue) (Z.to_nat l))
  else 1 - part one (entry (fst red) (snd red) (Z.to_nat (-1 - l))).

(** What was asked of the boundary, of any mechanism. *)
Definition asked (b : boundary) (N : mechanism integers) :=
  match b with
  | Value m => N 0%Z = Q2R m
  | Balanced => N 0%Z = 1 - N (-1)%Z
  | Selection => N (-1)%Z = 0
  end.

Lemma Q2R_parts q : Q2R q * IZR (Zpos (Qden q)) = IZR (Qnum q).
Proof. unfold Q2R; field. apply not_0_IZR; lia. Qed.

Section Sound.
Variables (one : Z) (y above d : Q) (P : privacy).
Hypothesis one_positive : (0 < one)%Z.
Hypothesis ratio_between : 0 <= Q2R y <= ratio P /\ ratio P <= Q2R above.
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

Lemma in_range_tail here rest : in_range one (here :: rest) = true -> in_range one rest = true.
Proof. unfold in_range; simpl; rewrite !andb_true_iff; tauto. Qed.

Lemma allowed_step p q : (0 <= p <= one)%Z -> (0 <= q <= one)%Z -> allowed one y d p q = true ->
  from p <= step P (from q) /\ from q <= step P (from p).
Proof. intros Hp Hq H; apply allowed_sound with (y := y) (d := d); try assumption; apply ratio_between. Qed.

Lemma side_private here rest top n : in_range one (here :: rest) = true -> side one y above d here rest top = true ->
  from (entry here rest n) <= step P (from (entry here rest (S n))) /\
  from (entry here rest (S n)) <= step P (from (entry here rest n)).
Proof.
  revert here top n; induction rest as [| t rest IH]; intros here top n R; simpl side;
    unfold tight; rewrite !andb_true_iff; intros H; pose proof (entry_range here _ 0 R) as H0; simpl in H0.
  - destruct H as [_ [[H _] _]]. destruct n; simpl; apply allowed_step; assumption.
  - destruct H as [_ [[H _] K]]. pose proof (entry_range here _ 1 R) as H1; simpl in H1.
    destruct n; [simpl entry; destruct (allowed_step t here H1 H0 H); split; assumption|].
    change (from (entry t rest n) <= step P (from (entry t rest (S n))) /\
            from (entry t rest (S n)) <= step P (from (entry t rest n))).
    eapply IH; [eapply in_range_tail; eassumption | eassumption].
Qed.

(** A side bounds whatever begins at most at [top] and moves by private steps. *)
Lemma side_near here rest top (f : nat -> R) :
  side one y above d here rest top = true ->
  (forall n, probability (f n)) -> (forall n, f (S n) <= step P (f n)) -> f 0%nat <= from top ->
  forall n, f n < from (entry here rest n) + / 2 ^ 60.
Proof.
  revert here top f; induction rest as [| t rest IH]; intros here top f H Hf F T n; simpl in H;
    rewrite !andb_true_iff in H.
  - destruct H as [_ [_ H]]. replace (entry here [] n) with here by (destruct n; reflexivity).
    destruct (Z.eqb_spec (ceiling one above d top) top) as [E | _]; (eapply close_sound; [exact H|]).
    + induction n; [exact T|]. eapply Rle_trans; [apply F|]. unfold from; rewrite <- E.
      apply ceiling_sound; auto; apply ratio_between.
    + unfold from, part. replace (IZR one / IZR one) with 1 by (field; lra). apply Hf.
  - destruct H as [C [_ H]]. destruct n as [| n]; [eapply close_sound; eassumption|].
    apply (IH t (ceiling one above d top) (fun n => f (S n))); auto.
    eapply Rle_trans; [apply F|]. apply ceiling_sound; auto; apply ratio_between.
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
  intros Hx H; apply le_step in H; destruct H as (_ & H & _). of_privacy P. destruct ratio_between as [_ A].
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
Lemma tops_sound b b0 r0 blue_top red_top (N : mechanism integers) : tops one y above d b b0 r0 = Some (blue_top, red_top) ->
  private P N -> asked b N -> N 0%Z <= from blue_top /\ 1 - N (-1)%Z <= from red_top.
Proof.
  intros H HN A. destruct (across N HN) as [A0 A1]. pose proof HN as [Np _].
  destruct (Np 0%Z) as [? ?], (Np (-1)%Z) as [? ?]. destruct ratio_between as [_ Above].
  unfold tops, fixed_value in H. destruct b as [| m |]; simpl in A.
  - destruct (Z.eqb_spec r0 b0); [|discriminate]. destruct (_ && _) eqn:E in H; [|discriminate]. injection H as <- <-.
    assert (B : N 0%Z <= from (balanced_top one above d)).
    { apply balanced_bound; [split; lra|]. replace (1 - N 0%Z) with (N (-1)%Z) by lra. exact A0. }
    split; [exact B | lra].
  - destruct (tight one y d r0 (one - b0)); [|discriminate]. destruct (_ && _) eqn:E in H; [|discriminate].
    injection H as <- <-. rewrite !andb_true_iff, Z.eqb_eq in E. destruct E as [_ ->].
    split; [rewrite A; apply part_up|]. eapply Rle_trans; [exact A1|].
    apply ceiling_sound; auto; [split; lra|]. rewrite <- part_no by assumption. rewrite A.
    pose proof (part_down m); unfold from in *; lra.
  - destruct (_ && _) eqn:E in H; [|discriminate]. injection H as <- <-. split.
    + eapply Rle_trans; [exact A0|]. apply ceiling_sound; auto. rewrite A; unfold part, Rdiv; rewrite Rmult_0_l; lra.
    + unfold from, part. replace (IZR one / IZR one) with 1 by (field; lra). lra.
Qed.

Variables (b : boundary) (b0 r0 : Z) (blues reds : list Z) (blue_error red_error : list Q).
Hypothesis accepted : check_line one y above d b (b0 :: blues) (r0 :: reds) blue_error red_error = true.

Let M := table one (b0, blues) (r0, reds).

Theorem check_line_private : private P M.
Proof.
  unfold check_line in accepted. destruct (tops _ _ _ _ _ _ _) as [[tb tr]|] eqn:T; rewrite !andb_true_iff in accepted;
    [|destruct accepted; discriminate].
  destruct accepted as [[[[[Rb Rr] B] _] _] [Sb Sr]]. apply private_steps; split.
  - intros l; unfold M, table; cbn [fst snd]. destruct (Z.leb 0 l).
    + apply part_probability, entry_range; assumption.
    + pose proof (part_probability one one_positive _ (entry_range r0 reds (Z.to_nat (-1 - l)) Rr)) as [? ?]. split; lra.
  - assert (O : forall n, from (entry b0 blues n) <= step P (from (entry b0 blues (S n))) /\ _) by
      (intros n; exact (side_private b0 blues tb n Rb Sb)).
    assert (I : forall n, 1 - from (entry r0 reds n) <= step P (1 - from (entry r0 reds (S n))) /\
                          1 - from (entry r0 reds (S n)) <= step P (1 - from (entry r0 reds n))).
    { intros n. destruct (side_private r0 reds tr n Rr Sr) as [X Y].
      pose proof (part_probability one one_positive _ (entry_range r0 reds n Rr)) as [? ?].
      pose proof (part_probability one one_positive _ (entry_range r0 reds (S n) Rr)) as [? ?].
      unfold from in *. rewrite <- !step_symmetric by lra. tauto. }
    assert (X : from b0 <= step P (1 - from r0) /\ 1 - from r0 <= step P (from b0)).
    { pose proof (entry_range b0 blues 0 Rb). pose proof (entry_range r0 reds 0 Rr). simpl in *.
      unfold from; rewrite part_no by assumption. apply allowed_step; [lia | lia | exact B]. }
    intros a c E. simpl in a, c, E. unfold M, table; cbn [fst snd].
    assert (E' : (a = c + 1 \/ c = a + 1)%Z) by lia.
    destruct (Z.leb_spec 0 a), (Z.leb_spec 0 c); destruct E' as [E' | E']; try lia.
    + replace (Z.to_nat a) with (S (Z.to_nat c)) by lia. apply O.
    + replace (Z.to_nat c) with (S (Z.to_nat a)) by lia. apply O.
    + replace a with 0%Z by lia. replace c with (-1)%Z by lia. apply X.
    + replace c with 0%Z by lia. replace a with (-1)%Z by lia. apply X.
    + replace (Z.to_nat (-1 - c)) with (S (Z.to_nat (-1 - a))) by lia. apply I.
    + replace (Z.to_nat (-1 - a)) with (S (Z.to_nat (-1 - c))) by lia. apply I.
Qed.

Theorem check_line_optimal (N : mechanism integers) : private P N -> asked b N -> forall l, truth N l < truth M l + / 2 ^ 60.
Proof.
  intros HN A l. unfold check_line in accepted.
  destruct (tops _ _ _ _ _ _ _) as [[tb tr]|] eqn:T; rewrite !andb_true_iff in accepted; [|destruct accepted; discriminate].
  destruct accepted as [_ [Sb Sr]]. destruct (tops_sound _ _ _ _ _ N T HN A) as [Tb Tr]. pose proof HN as [Np _].
  unfold truth, M, table; cbn [fst snd blue integers]. destruct (Z.leb_spec 0 l).
  - replace (N l) with (N (Z.of_nat (Z.to_nat l))) by (rewrite Z2Nat.id; auto).
    apply (side_near b0 blues tb (fun n => N (Z.of_nat n))); auto. apply outwards, HN.
  - replace (1 - (1 - part one (entry r0 reds (Z.to_nat (-1 - l)))))
      with (part one (entry r0 reds (Z.to_nat (-1 - l)))) by ring.
    replace (N l) with (N (-1 - Z.of_nat (Z.to_nat (-1 - l)))%Z) by (rewrite Z2Nat.id by lia; f_equal; lia).
    apply (side_near r0 reds tr (fun n => 1 - N (-1 - Z.of_nat n)%Z)); auto; [|apply outwards_no, HN].
    intros n; destruct (Np (-1 - Z.of_nat n)%Z); split; lra.
Qed.

End Sound.
