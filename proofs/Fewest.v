(** The greedy loop of `duotone.questions.threshold.fewest`: the fewest changes that lower a sum by at least [excess].

    Who has score s lowers it by the gain s - base, once; a newcomer by [newcomer], as often as wanted. Under add-remove the
    base is 0 and a newcomer brings max (-lowest, 0); under replace the base is the lowest score and nobody comes. The loop
    takes the largest gains first, and those alone that exceed a newcomer's.

    That no fewer changes will do is seen without sorting or exchanging: for each price t >= newcomer, n changes lower the sum
    by at most n*t plus what the gains of all people exceed t by ([spare]). The loop meets this with the gain of the last one
    taken as the price, or a newcomer's if all who help are taken. *)

From Coq Require Import ZArith Lia List Permutation Sorted.
From Duotone Require Import Sums.
Import ListNotations.
Open Scope Z_scope.

(** Scores with the number of people who have them, the largest first. Where nobody has one its place does not matter: of
    many tables at once, those that have no more people are given 0, of nobody. *)
Definition tally := list (Z * nat).
Definition everyone (rows : tally) := flat_map (fun row => repeat (fst row) (snd row)) rows.
Definition in_order (rows : tally) := StronglySorted (fun row later => fst later <= fst row) rows.
Definition peopled (rows : tally) := filter (fun row => Nat.ltb 0 (snd row)) rows.
Definition descending rows := in_order (peopled rows).

Lemma everyone_peopled rows : everyone (peopled rows) = everyone rows.
Proof. induction rows as [| [s [|n]] rows IH]; simpl; [reflexivity | assumption | f_equal; f_equal; assumption]. Qed.

Lemma in_order_descending rows : in_order rows -> descending rows.
Proof.
  unfold descending; induction 1 as [| row rows D IH F]; simpl; [constructor|].
  destruct (Nat.ltb 0 (snd row)); [|assumption]. constructor; [assumption|].
  rewrite Forall_forall in *; intros later I; apply filter_In in I; apply F, I.
Qed.

Section Fewest.
Variables base newcomer : Z.
Hypothesis newcomer_least : 0 <= newcomer.

Definition gain s := s - base.

(** What remains of the excess, and the steps so far, after the loop. *)
Fixpoint taking (rows : tally) excess steps :=
  match rows with
  | [] => (excess, steps)
  | (score, people) :: rows =>
      let taken := if newcomer <? gain score then Z.min (ceiling excess (gain score)) (Z.of_nat people) else 0 in
      taking rows (Z.max (excess - taken * gain score) 0) (steps + taken)
  end.

Definition joining left steps :=
  if newcomer =? 0 then if 0 <? left then None else Some steps else Some (steps + ceiling left newcomer).

Definition fewest rows excess := let (left, steps) := taking rows (Z.max excess 0) 0 in joining left steps.

(** *** What the loop takes *)

Lemma taking_nothing rows steps : taking rows 0 steps = (0, steps).
Proof.
  revert steps; induction rows as [| [s n] rows IH]; intros steps; [reflexivity|]; cbn [taking].
  assert ((if newcomer <? gain s then Z.min (ceiling 0 (gain s)) (Z.of_nat n) else 0) = 0) as ->.
  { unfold ceiling; simpl; destruct (newcomer <? gain s); lia. }
  rewrite Z.mul_0_l, Z.add_0_r; apply IH.
Qed.

(** Either all who help were taken, and it is not enough; or just enough were, those with gains of [t] or more. *)
Definition all_help excess taken rest :=
  sum gain taken < excess /\ Forall (fun s => newcomer < gain s) taken /\ Forall (fun s => gain s <= newcomer) rest.

Definition just_enough excess taken rest t :=
  excess <= sum gain taken /\ newcomer < t /\ In t (map gain (taken ++ rest)) /\ sum gain taken - t < excess /\
  Forall (fun s => t <= gain s) taken /\ Forall (fun s => gain s <= t) rest.

Definition outcome excess taken rest :=
  all_help excess taken rest \/ (excess = 0 /\ taken = []) \/ exists t, just_enough excess taken rest t.

Lemma in_everyone s rows : In s (everyone rows) -> exists row, In row rows /\ fst row = s.
Proof.
  intros I; apply in_flat_map in I as (row & R & I). apply repeat_spec in I. exists row; auto.
Qed.

Lemma later_less s n rows : in_order ((s, n) :: rows) -> Forall (fun x => x <= s) (everyone rows).
Proof.
  intros D; inversion D as [| ? ? _ F]; subst. apply Forall_forall; intros x I.
  apply in_everyone in I as (row & R & <-). rewrite Forall_forall in F; exact (F row R).
Qed.

Lemma forall_repeat {A} (P : A -> Prop) x n : P x -> Forall P (repeat x n).
Proof. intros H; apply Forall_forall; intros y I; apply repeat_spec in I; subst; assumption. Qed.

(** The row that ends it. *)
Lemma outcome_here s n rows excess j : in_order ((s, n) :: rows) -> newcomer < gain s -> 0 <= excess ->
  j = ceiling excess (gain s) -> j <= Z.of_nat n ->
  outcome excess (repeat s (Z.to_nat j)) (repeat s (n - Z.to_nat j) ++ everyone rows).
Proof.
  intros D H P -> L; set (j := ceiling excess (gain s)) in *.
  assert (0 <= j) by (apply ceiling_positive; lia).
  assert (excess <= j * gain s) by (apply ceiling_enough; lia).
  destruct (Z.eq_dec j 0) as [Z | NZ]; [right; left; rewrite Z; split; [lia | reflexivity]|].
  right; right; exists (gain s). unfold just_enough; rewrite sum_repeat, Z2Nat.id by lia. repeat split; try lia.
  - replace (Z.to_nat j) with (S (Z.to_nat (j - 1))) by lia; left; reflexivity.
  - pose proof (ceiling_least excess (gain s) (j - 1) ltac:(lia)). lia.
  - apply forall_repeat; lia.
  - apply Forall_app; split; [apply forall_repeat; lia|].
    eapply Forall_impl; [|apply (later_less _ _ _ D)]. unfold gain; intros; lia.
Qed.

(** A row that is taken whole. *)
Lemma outcome_later s n rows excess taken rest : in_order ((s, n) :: rows) -> newcomer < gain s ->
  Z.of_nat n * gain s < excess -> Permutation (everyone rows) (taken ++ rest) ->
  outcome (excess - Z.of_nat n * gain s) taken rest -> outcome excess (repeat s n ++ taken) rest.
Proof.
  intros D H L E [(S & T & R) | [(Z & _) | (t & S & N & I & M & T & R)]]; [left | lia | right; right; exists t].
  - repeat split; [rewrite sum_app, sum_repeat; lia | apply Forall_app; split; [apply forall_repeat|]; assumption | assumption].
  - assert (t <= gain s).
    { apply in_map_iff in I as (x & <- & I). apply (Permutation_in (l' := everyone rows)) in I; [|symmetry; assumption].
      pose proof (later_less _ _ _ D) as F; rewrite Forall_forall in F. specialize (F x I); unfold gain; lia. }
    unfold just_enough; rewrite sum_app, sum_repeat; repeat split; try lia.
    + rewrite <- app_assoc, map_app; apply in_or_app; right; assumption.
    + apply Forall_app; split; [apply forall_repeat|]; assumption.
    + assumption.
Qed.

(** A row of people who do not help. *)
Lemma outcome_skip s n excess taken rest : gain s <= newcomer ->
  outcome excess taken rest -> outcome excess taken (repeat s n ++ rest).
Proof.
  intros H [(S & T & R) | [Z | (t & S & N & I & M & T & R)]]; [left | right; left; assumption | right; right; exists t].
  - repeat split; try assumption. apply Forall_app; split; [apply forall_repeat|]; assumption.
  - repeat split; try assumption.
    + rewrite map_app in *; apply in_app_or in I; rewrite map_app; apply in_or_app; rewrite in_app_iff; tauto.
    + apply Forall_app; split; [apply forall_repeat; lia | assumption].
Qed.

Lemma taking_in_order rows : in_order rows -> forall excess steps, 0 <= excess -> exists taken rest,
  Permutation (everyone rows) (taken ++ rest) /\ outcome excess taken rest /\
  taking rows excess steps = (Z.max (excess - sum gain taken) 0, steps + Z.of_nat (length taken)).
Proof.
  induction rows as [| [s n] rows IH]; intros D excess steps P.
  - exists [], []; split; [constructor | split; [|simpl; f_equal; lia]].
    destruct (Z.eq_dec excess 0); [right; left; auto | left; repeat split; simpl; (constructor || lia)].
  - assert (D' : in_order rows) by (inversion D; assumption). cbn [taking].
    change (everyone ((s, n) :: rows)) with (repeat s n ++ everyone rows). destruct (Z.ltb_spec newcomer (gain s)) as [H | H].
    + set (j := ceiling excess (gain s)). assert (0 <= j) by (apply ceiling_positive; lia).
      assert (excess <= j * gain s) by (apply ceiling_enough; lia).
      destruct (Z.le_gt_cases j (Z.of_nat n)) as [L | L].
      * exists (repeat s (Z.to_nat j)), (repeat s (n - Z.to_nat j) ++ everyone rows). split; [|split].
        -- rewrite app_assoc, <- repeat_app. replace (Z.to_nat j + (n - Z.to_nat j))%nat with n by lia. reflexivity.
        -- apply outcome_here; auto.
        -- rewrite sum_repeat, repeat_length, Z2Nat.id, Z.min_l, Z.max_r by lia. apply taking_nothing.
      * assert (Z.of_nat n * gain s < excess)
          by (pose proof (ceiling_least excess (gain s) (Z.of_nat n) ltac:(lia)); fold j in H2; lia).
        rewrite Z.min_r, Z.max_l by lia.
        destruct (IH D' (excess - Z.of_nat n * gain s) (steps + Z.of_nat n)) as (taken & rest & E & O & T); [lia|].
        exists (repeat s n ++ taken), rest; split; [rewrite <- app_assoc; apply Permutation_app_head, E|].
        split; [eapply outcome_later; eassumption|]. rewrite T, sum_app, sum_repeat, app_length, repeat_length. f_equal; lia.
    + destruct (IH D' excess steps P) as (taken & rest & E & O & T).
      exists taken, (repeat s n ++ rest); split; [|split; [apply outcome_skip; assumption|]].
      * rewrite E. rewrite !app_assoc. apply Permutation_app_tail, Permutation_app_comm.
      * rewrite <- T. f_equal; lia.
Qed.

Lemma taking_peopled rows excess steps : 0 <= excess -> taking (peopled rows) excess steps = taking rows excess steps.
Proof.
  revert excess steps; induction rows as [| [s [|n]] rows IH]; intros excess steps P; [reflexivity | | apply IH; lia].
  cbn [taking]. assert ((if newcomer <? gain s then Z.min (ceiling excess (gain s)) (Z.of_nat 0) else 0) = 0) as ->.
  { destruct (Z.ltb_spec newcomer (gain s)); [|reflexivity]. pose proof (ceiling_positive excess (gain s)); lia. }
  rewrite Z.mul_0_l, Z.sub_0_r, Z.max_l, Z.add_0_r by assumption. apply IH; assumption.
Qed.

Theorem taking_takes rows excess steps : descending rows -> 0 <= excess -> exists taken rest,
  Permutation (everyone rows) (taken ++ rest) /\ outcome excess taken rest /\
  taking rows excess steps = (Z.max (excess - sum gain taken) 0, steps + Z.of_nat (length taken)).
Proof.
  intros D P. rewrite <- everyone_peopled, <- taking_peopled by assumption. apply taking_in_order; assumption.
Qed.

(** *** It is enough *)

Theorem fewest_enough rows e k : descending rows -> fewest rows e = Some k -> exists taken rest j,
  Permutation (everyone rows) (taken ++ rest) /\ k = Z.of_nat (length taken + j) /\
  e <= sum gain taken + Z.of_nat j * newcomer /\ (newcomer = 0 -> j = 0%nat).
Proof.
  intros D; unfold fewest. destruct (taking_takes rows (Z.max e 0) 0 D) as (taken & rest & E & _ & ->); [lia|].
  set (left := Z.max (Z.max e 0 - sum gain taken) 0). unfold joining. destruct (Z.eqb_spec newcomer 0) as [Z | NZ].
  - destruct (Z.ltb_spec 0 left); [discriminate|]. injection 1 as <-. exists taken, rest, 0%nat.
    repeat split; try assumption; lia.
  - injection 1 as <-. assert (0 <= ceiling left newcomer) by (apply ceiling_positive; lia).
    assert (left <= ceiling left newcomer * newcomer) by (apply ceiling_enough; lia).
    exists taken, rest, (Z.to_nat (ceiling left newcomer)). repeat split; try assumption; lia.
Qed.

(** *** Nothing less is enough *)

(** By how much gains exceed a price. *)
Definition spare t s := Z.max (gain s - t) 0.

(** What n changes could do at best, whoever is there: [Threshold] shows it of walks. *)
Definition allowed xs e n := forall t, newcomer <= t -> e <= sum (spare t) xs + n * t.

Lemma spare_taken t taken : Forall (fun s => t <= gain s) taken ->
  sum (spare t) taken = sum gain taken - Z.of_nat (length taken) * t.
Proof. unfold spare; induction 1; simpl sum; simpl length; lia. Qed.

Lemma spare_rest t rest : Forall (fun s => gain s <= t) rest -> sum (spare t) rest = 0.
Proof. unfold spare; induction 1; simpl; lia. Qed.

(** Both at once: those taken are at or above the price, the others at or below it. *)
Lemma allowed_price xs e n t taken rest : allowed xs e n -> newcomer <= t -> Permutation xs (taken ++ rest) ->
  Forall (fun s => t <= gain s) taken -> Forall (fun s => gain s <= t) rest ->
  e <= sum gain taken + (n - Z.of_nat (length taken)) * t.
Proof.
  intros A P E T R. specialize (A t P).
  rewrite (sum_permutation _ _ _ E), sum_app, spare_taken, spare_rest in A by assumption. lia.
Qed.

Lemma needed_enough others e n taken rest t : 0 <= n -> just_enough (Z.max e 0) taken rest t ->
  allowed (taken ++ rest ++ others) e n -> Forall (fun s => gain s <= t) others -> Z.of_nat (length taken) <= n.
Proof.
  intros N (S & P & I & M & T & R) A O. assert (e <= 0 \/ 0 < e) as [Z | Z] by lia.
  - assert (t <= sum gain taken -> False) by lia. destruct taken as [| s taken]; [simpl; lia|].
    inversion T as [| ? ? Ts Tt]; subst.
    assert (0 <= sum gain taken) by (clear - Tt P newcomer_least; induction Tt; simpl; lia).
    simpl in *; lia.
  - apply (allowed_price _ _ _ t taken (rest ++ others)) in A; [nia | lia | reflexivity | assumption|].
    apply Forall_app; auto.
Qed.

Lemma needed_all others e n taken rest : all_help (Z.max e 0) taken rest ->
  allowed (taken ++ rest ++ others) e n -> Forall (fun s => gain s <= newcomer) others ->
  0 < Z.max e 0 - sum gain taken <= (n - Z.of_nat (length taken)) * newcomer.
Proof.
  intros (S & T & R) A O.
  assert (0 <= sum gain taken) by (clear - T newcomer_least; induction T; simpl; lia).
  split; [lia|]. apply (allowed_price _ _ _ newcomer taken (rest ++ others)) in A; [lia | lia | reflexivity | |].
  - eapply Forall_impl; [|exact T]; simpl; lia.
  - apply Forall_app; auto.
Qed.

Lemma allowed_permutation xs ys e n : Permutation xs ys -> allowed xs e n -> allowed ys e n.
Proof. intros E A t P. rewrite <- (sum_permutation _ _ _ E). apply A, P. Qed.

Lemma joining_nothing steps : joining 0 steps = Some steps.
Proof. unfold joining, ceiling; destruct (newcomer =? 0); simpl; f_equal; lia. Qed.

(** Others than those listed may be there, if they do not help. *)
Theorem fewest_needed rows others e n : descending rows -> Forall (fun s => gain s <= newcomer) others -> 0 <= n ->
  allowed (everyone rows ++ others) e n -> exists k, fewest rows e = Some k /\ k <= n.
Proof.
  intros D O N A; unfold fewest. destruct (taking_takes rows (Z.max e 0) 0 D) as (taken & rest & E & X & ->); [lia|].
  apply (allowed_permutation _ (taken ++ rest ++ others)) in A; [|rewrite app_assoc; apply Permutation_app_tail, E].
  destruct X as [H | [[Z ->] | (t & J)]].
  - destruct (needed_all _ _ _ _ _ H A O) as [L U]. unfold joining. destruct (Z.eqb_spec newcomer 0); [lia|].
    eexists; split; [reflexivity|].
    enough (ceiling (Z.max (Z.max e 0 - sum gain taken) 0) newcomer <= n - Z.of_nat (length taken)) by lia.
    apply ceiling_least; lia.
  - rewrite Z; simpl. rewrite joining_nothing. eauto.
  - replace (Z.max (Z.max e 0 - sum gain taken) 0) with 0 by (destruct J; lia). rewrite joining_nothing.
    assert (newcomer < t) by apply J. eexists; split; [reflexivity|].
    apply (needed_enough others e n taken rest t); try assumption.
    eapply Forall_impl; [|exact O]; simpl; lia.
Qed.

End Fewest.
