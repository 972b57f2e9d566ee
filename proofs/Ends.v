(** Only the ends of a table are looked at: the [reach] most influential people each way, or all who matter if they are fewer.

    `fewest` and `levels` with a `reach` are right about every distance up to it, and call larger ones larger. If the loop takes
    all it is given and that is not enough, others would have helped less than each of those: so more than [reach] changes are
    needed. *)

From Coq Require Import ZArith Lia Bool List Permutation Sorted.
From Duotone Require Import Graph Levels Sums Fewest Threshold Scores.
Import ListNotations.
Open Scope Z_scope.

Section Fewest.
Variables base newcomer reach : Z.
Hypothesis newcomer_least : 0 <= newcomer.
Notation gain := (gain base).

Definition fewest_within rows excess :=
  let (left, steps) := taking base newcomer rows (Z.max excess 0) 0 in
  if (0 <? left) && (reach <=? steps) then Some (reach + 1) else joining newcomer left steps.

(** Those who are not listed do not matter, or [reach] people are listed who all come before them. *)
Definition beyond rows others :=
  Forall (fun s => gain s <= newcomer) others \/
  (reach <= Z.of_nat (length (everyone rows)) /\ forall s x, In s others -> In x (everyone rows) -> s <= x).

Lemma within_same rows e k : fewest_within rows e = Some k -> k <= reach -> fewest base newcomer rows e = Some k.
Proof.
  unfold fewest_within, fewest; destruct taking as [left steps].
  destruct ((0 <? left) && (reach <=? steps)); [injection 1 as <-; lia | trivial].
Qed.

(** A price between those taken and those not listed. *)
Lemma price_between taken others : Forall (fun s => newcomer < gain s) taken ->
  (forall s x, In s others -> In x taken -> s <= x) ->
  exists t, newcomer <= t /\ Forall (fun s => t <= gain s) taken /\ Forall (fun s => gain s <= t) others.
Proof.
  intros T; rewrite Forall_forall in T. induction others as [| s others IH]; intros B.
  - exists newcomer; repeat split; [lia | | constructor]. apply Forall_forall; intros x I; specialize (T x I); simpl in T; lia.
  - destruct IH as (t & N & A & O); [intros s' x I; apply B; right; assumption|].
    rewrite Forall_forall in A, O. exists (Z.max t (gain s)); repeat split; [lia | |].
    + apply Forall_forall; intros x I. specialize (A x I); specialize (B s x (or_introl eq_refl) I).
      simpl in *; unfold Fewest.gain in *; lia.
    + apply Forall_forall; intros x [<- | I]; [lia | specialize (O x I); simpl in O; lia].
Qed.

(** If the loop takes all who help, none of those who are not listed does, or all who are listed were taken. *)
Lemma beyond_taken rows others taken rest : Permutation (everyone rows) (taken ++ rest) -> beyond rows others ->
  Forall (fun s => gain s <= newcomer) rest ->
  Forall (fun s => gain s <= newcomer) others \/
  (reach <= Z.of_nat (length taken) /\ rest = [] /\ forall s x, In s others -> In x taken -> s <= x).
Proof.
  intros P [O | [L B]] R; [left; assumption|]. destruct rest as [| y rest].
  - right. rewrite app_nil_r in P. rewrite <- (Permutation_length P). repeat split; try assumption.
    intros s x I J; apply B; [|apply (Permutation_in x (Permutation_sym P))]; assumption.
  - left. apply Forall_forall; intros s I. inversion R; subst. enough (s <= y) by (unfold Fewest.gain in *; lia).
    apply B; [|apply (Permutation_in y (Permutation_sym P)), in_or_app; right; left]; trivial.
Qed.

Lemma needed_more others e n taken : all_help base newcomer (Z.max e 0) taken [] ->
  (forall s x, In s others -> In x taken -> s <= x) ->
  allowed base newcomer (taken ++ others) e n -> Z.of_nat (length taken) < n.
Proof.
  intros (S & T & _) B A. destruct (price_between taken others T B) as (t & N & U & O).
  assert (0 <= sum gain taken) by (clear - T newcomer_least; induction T; simpl; lia).
  apply (allowed_price _ _ _ _ _ t taken others) in A; trivial. nia.
Qed.

Lemma needed_here rows others e n taken rest t : 0 <= n -> Permutation (everyone rows) (taken ++ rest) -> beyond rows others ->
  just_enough base newcomer (Z.max e 0) taken rest t -> allowed base newcomer (taken ++ rest ++ others) e n ->
  Z.of_nat (length taken) <= n.
Proof.
  intros N P B J A. apply (needed_enough base newcomer newcomer_least others e n taken rest t); trivial.
  destruct J as (_ & Lt & I & _). apply Forall_forall; intros s Is. destruct B as [O | [_ B]].
  - rewrite Forall_forall in O; specialize (O s Is); simpl in O; lia.
  - apply in_map_iff in I as (x & <- & I). apply (Permutation_in x (Permutation_sym P)) in I.
    specialize (B s x Is I); unfold Fewest.gain; lia.
Qed.

Theorem within_needed rows others e n : descending rows -> beyond rows others -> 0 <= n ->
  allowed base newcomer (everyone rows ++ others) e n ->
  exists k, fewest_within rows e = Some k /\ Z.min k (reach + 1) <= n.
Proof.
  intros D B N A. pose proof (fun O => fewest_needed base newcomer newcomer_least rows others e n D O N A) as F.
  unfold fewest_within, fewest in *.
  destruct (taking_takes base newcomer newcomer_least rows (Z.max e 0) 0 D) as (taken & rest & P & X & T); [lia|].
  rewrite T in *; clear T.
  apply (allowed_permutation _ _ _ (taken ++ rest ++ others)) in A; [|rewrite app_assoc; apply Permutation_app_tail, P].
  destruct X as [H | [[Z ->] | (t & J)]].
  - destruct (beyond_taken rows others taken rest P B) as [O | (L & -> & O)]; [apply H | |].
    + destruct (needed_all _ _ newcomer_least _ _ _ _ _ H A O). destruct (F O) as (k & E & K).
      destruct (_ && _) eqn:S; [exists (reach + 1); split; [reflexivity | nia] | exists k; split; [assumption | lia]].
    + assert (Z.of_nat (length taken) < n) by (apply (needed_more others e); trivial).
      assert (sum gain taken < Z.max e 0) by apply H.
      replace (_ && _) with true by (symmetry; apply andb_true_intro; split; lia).
      exists (reach + 1); split; [reflexivity | lia].
  - rewrite Z; simpl. rewrite joining_nothing. exists 0; split; [reflexivity | lia].
  - replace (Z.max (Z.max e 0 - sum gain taken) 0) with 0 by (destruct J; lia). simpl. rewrite joining_nothing.
    eexists; split; [reflexivity|]. pose proof (needed_here rows others e n taken rest t N P B J A). lia.
Qed.

End Fewest.

(** *** Levels *)

Definition fewest_to r lowest reach := fewest_within (base r lowest) (newcomer r lowest) reach.

Definition levels_within r lowest highest at_least reach total largest smallest :=
  let surplus := total - at_least in
  if 0 <=? surplus
  then match fewest_to r lowest reach largest (surplus + 1) with Some down => finite (down - 1) | None => always end
  else match fewest_to r (- highest) reach (mirrored smallest) (- surplus) with Some up => finite (- up) | None => never end.

(** The ends of a table. *)
Definition ends r lowest reach rows xs := descending rows /\ exists others,
  Permutation xs (everyone rows ++ others) /\ beyond (base r lowest) (newcomer r lowest) reach rows others.

(** Levels cut off at the reach. *)
Definition cut reach x :=
  match x with
  | never => finite (- reach - 1) | finite z => finite (Z.max (- reach - 1) (Z.min z reach)) | always => finite reach
  end.

Definition same_within reach k (d : option nat) :=
  match k, d with
  | Some k, Some n => Z.min k (reach + 1) = Z.min (Z.of_nat n) (reach + 1)
  | Some k, None => reach < k
  | None, Some _ => False
  | None, None => True
  end.

Section Lowering.
Context {person : Type} (r : relation) (c : list person -> bool) (score : person -> Z).
Variables (lowest reach : Z) (bottom : person).
Hypothesis scores_least : forall p, lowest <= score p.
Hypothesis bottom_lowest : score bottom = lowest.
Notation G := (people person r c).

Lemma fewest_within_distance (q : G -> bool) (a : G) rows e d : ends r lowest reach rows (map score a) ->
  (forall b : G, sum score b + e <= sum score a <-> q b <> q a) -> flips q a d ->
  same_within reach (fewest_to r lowest reach rows e) d.
Proof.
  intros (D & others & P & B) A F.
  assert (M : forall n (b : G), q b <> q a -> walk n b a ->
    exists k, fewest_to r lowest reach rows e = Some k /\ Z.min k (reach + 1) <= Z.of_nat n).
  { intros n b Hb W; apply A in Hb.
    apply (within_needed _ _ _ (newcomer_least r lowest) rows others); [assumption | assumption | lia|].
    apply allowed_permutation with (map score a); [assumption|].
    eapply walk_allowed; [exact scores_least | apply walk_back, W | assumption]. }
  assert (R : forall k, fewest_to r lowest reach rows e = Some k -> k <= reach ->
    exists b : G, q b <> q a /\ walk (Z.to_nat k) b a /\ 0 <= k).
  { intros k E L; apply within_same in E; [|assumption].
    destruct (fewest_reached r c score lowest bottom bottom_lowest a rows others e k D P E) as (b & W & T).
    exists b; split; [apply A, T | split; [apply walk_back, W|]].
    destruct (fewest_enough _ _ (newcomer_least r lowest) _ _ _ D E) as (? & ? & ? & _ & -> & _). lia. }
  unfold same_within. destruct fewest_to as [k|]; destruct d as [n|]; trivial.
  - destruct F as ((b & Hb & W) & least). destruct (M n b Hb W) as (k' & E & L). injection E as <-.
    destruct (Z.le_gt_cases k reach) as [K | K]; [|lia]. destruct (R k eq_refl K) as (b' & Hb' & W' & ?).
    specialize (least _ _ Hb' W'); lia.
  - apply Z.lt_nge; intros K. destruct (R k eq_refl K) as (b & Hb & W & _). destruct (F _ _ Hb W).
  - destruct F as ((b & Hb & W) & _). destruct (M n b Hb W) as (? & ? & _); discriminate.
Qed.
End Lowering.

(** From the ends alone, every level is right up to the reach. *)
Theorem levels_within_reach {person} r (score : person -> Z) lowest highest at_least reach bottom top c (a : people person r c)
    largest smallest x :
  (forall p, lowest <= score p <= highest) -> score bottom = lowest -> score top = highest -> 0 <= reach ->
  ends r lowest reach largest (map score a) -> ends r (- highest) reach (mirrored smallest) (map (fun p => - score p) a) ->
  exact (enough score at_least : people person r c -> bool) a x ->
  cut reach (levels_within r lowest highest at_least reach (sum score a) largest smallest) = cut reach x.
Proof.
  intros B Lo Hi R L S (d & F & ->); unfold levels_within. set (q := enough score at_least : people person r c -> bool) in *.
  assert (V : q a = (0 <=? sum score a - at_least)) by (unfold q, enough; lia).
  rewrite V. destruct (0 <=? sum score a - at_least) eqn:Y.
  - assert (E : forall b, sum score b + (sum score a - at_least + 1) <= sum score a <-> q b <> q a)
      by (intros b; rewrite V; unfold q, enough; lia).
    pose proof (fewest_within_distance r c score lowest reach bottom (fun p => proj1 (B p)) Lo q a _ _ d L E F) as W.
    unfold same_within in W; destruct fewest_to, d; try easy; unfold cut, level_of; f_equal; lia.
  - assert (E : forall b, sum (fun p => - score p) b + - (sum score a - at_least) <= sum (fun p => - score p) a <-> q b <> q a)
      by (intros b; rewrite V, !sum_opposite; unfold q, enough; lia).
    assert (B' : forall p, - highest <= - score p) by (intros p; specialize (B p); lia).
    pose proof (fewest_within_distance r c (fun p => - score p) (- highest) reach top B' (f_equal Z.opp Hi) q a _ _ d S E F)
      as W.
    unfold same_within in W; destruct fewest_to, d; try easy; unfold cut, level_of; f_equal; lia.
Qed.

(** *** What engines send: the first so many of those who matter *)

Definition first_of n r lowest xs : tally :=
  map (fun s => (s, 1%nat)) (firstn n (everyone (counted (those_who_matter r lowest xs)))).

Lemma everyone_ones xs : everyone (map (fun s => (s, 1%nat)) xs) = xs.
Proof. induction xs; simpl; [reflexivity | f_equal; assumption]. Qed.

Lemma everyone_sorted rows : in_order rows -> StronglySorted (fun s later => later <= s) (everyone rows).
Proof.
  induction rows as [| [s n] rows IH]; intros D; [constructor|]. pose proof (later_less _ _ _ D) as F.
  assert (S : StronglySorted (fun s later => later <= s) (everyone rows)) by (inversion D; auto).
  change (everyone ((s, n) :: rows)) with (repeat s n ++ everyone rows). clear - S F.
  induction n as [| n IHn]; simpl; [assumption|]. constructor; [assumption|].
  apply Forall_app; split; [apply forall_repeat; lia | assumption].
Qed.

Lemma first_before xs ys : StronglySorted (fun s later => later <= s) (xs ++ ys) ->
  StronglySorted (fun s later => later <= s) xs /\ forall s x, In s ys -> In x xs -> s <= x.
Proof.
  induction xs as [| x xs IH]; simpl; intros D; [split; [constructor | easy]|]. inversion D as [| ? ? D' F]; subst.
  destruct (IH D') as [S B]. apply Forall_app in F as [F F']. split; [constructor; assumption|].
  intros s y I [<- | J]; [rewrite Forall_forall in F'; apply F', I | auto].
Qed.

Lemma ones_in_order xs : StronglySorted (fun s later => later <= s) xs -> in_order (map (fun s => (s, 1%nat)) xs).
Proof. induction 1; simpl; constructor; [assumption | apply Forall_map; assumption]. Qed.

Lemma first_ends n r lowest xs : ends r lowest (Z.of_nat n) (first_of n r lowest xs) xs.
Proof.
  unfold first_of; set (some := those_who_matter r lowest xs); set (all := everyone (counted some)).
  set (idle := filter (fun s => negb (matters_from r lowest <=? s)) xs).
  assert (P : Permutation all some) by apply counted_all.
  assert (N : Forall (fun s => gain (base r lowest) s <= newcomer r lowest) idle).
  { apply Forall_forall; intros s I; apply filter_In in I as [_ I]. apply matters_gain; lia. }
  assert (S : StronglySorted (fun s later => later <= s) (firstn n all ++ skipn n all))
    by (rewrite firstn_skipn; apply everyone_sorted, counted_in_order).
  apply first_before in S as [S B]. split; [apply in_order_descending, ones_in_order, S|].
  exists (skipn n all ++ idle). rewrite everyone_ones, app_assoc, firstn_skipn.
  split; [rewrite P; apply (filter_both (fun s => matters_from r lowest <=? s))|].
  unfold beyond; rewrite everyone_ones. destruct (Nat.le_gt_cases (length all) n) as [L | L].
  - left. rewrite skipn_all2 by assumption. exact N.
  - right. split; [rewrite firstn_length; lia|]. intros s x I J. apply in_app_or in I as [I | I]; [auto|].
    rewrite Forall_forall in N; specialize (N s I); simpl in N; apply matters_gain in N.
    assert (K : In x some) by (apply (Permutation_in x P); rewrite <- (firstn_skipn n all); apply in_or_app; auto).
    apply filter_In in K as [_ K]. lia.
Qed.

(** So they tell every level within reach. *)
Theorem first_suffice r lowest highest at_least n values : lowest <= highest ->
  let xs := map (clipped lowest highest) values in
  cut (Z.of_nat n) (levels_within r lowest highest at_least (Z.of_nat n) (sum (fun s => s) xs)
                      (first_of n r lowest xs) (mirrored (first_of n r (- highest) (map Z.opp xs)))) =
  cut (Z.of_nat n) (level r lowest highest at_least values).
Proof.
  intros B xs; unfold xs; rewrite sum_map.
  apply (levels_within_reach r (clipped lowest highest) lowest highest at_least (Z.of_nat n) lowest highest (fun _ => true));
    auto using clipped_between, clipped_low, clipped_high; try lia.
  - apply first_ends.
  - rewrite mirrored_twice, <- (map_map (clipped lowest highest) Z.opp). apply first_ends.
  - apply level_of_numbers, B.
Qed.
