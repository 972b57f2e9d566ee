(** What a threshold is given of a table (`scores`, `clipped`, `Threshold.level`), and who of its people matter (`who_matters`).

    Scores are counted, the largest first; the same rows backwards are the smallest first. So the hypotheses of [Threshold] can
    be met, and the level of every list of numbers is exact. For people of another kind it is private anyhow, and exact if
    there can be people with the lowest and with the highest score. *)

From Coq Require Import ZArith Lia Bool List Permutation Sorted.
From Duotone Require Import Graph Levels Sums Fewest Threshold.
Import ListNotations.
Open Scope Z_scope.

(** *** Counting: sorted(Counter(values).items(), reverse=True) *)

Fixpoint count_in s (rows : tally) : tally :=
  match rows with
  | [] => [(s, 1%nat)]
  | (x, n) :: later => if s =? x then (x, S n) :: later else if x <? s then (s, 1%nat) :: rows else (x, n) :: count_in s later
  end.

Definition counted xs := fold_right count_in [] xs.

Lemma count_in_all s rows : Permutation (everyone (count_in s rows)) (s :: everyone rows).
Proof.
  induction rows as [| [x n] rows IH]; simpl; [reflexivity|].
  destruct (Z.eqb_spec s x) as [-> | _]; [reflexivity|]. destruct (x <? s); [reflexivity|].
  unfold everyone in *; simpl. rewrite IH. symmetry; apply Permutation_middle.
Qed.

Lemma counted_all xs : Permutation (everyone (counted xs)) xs.
Proof. induction xs as [| s xs IH]; simpl; [constructor|]. rewrite count_in_all, IH; reflexivity. Qed.

Lemma count_in_most s rows m : s <= m ->
  Forall (fun row => fst row <= m) rows -> Forall (fun row => fst row <= m) (count_in s rows).
Proof.
  intros L; induction 1 as [| [x n] rows X F IH]; simpl; [auto|].
  destruct (s =? x), (x <? s); auto.
Qed.

Lemma count_in_order s rows : in_order rows -> in_order (count_in s rows).
Proof.
  induction 1 as [| [x n] rows D IH F]; simpl; [repeat constructor|].
  destruct (Z.eqb_spec s x) as [-> | _]; [constructor; assumption|]. destruct (Z.ltb_spec x s) as [L | L].
  - repeat constructor; try assumption; simpl; [lia|]. eapply Forall_impl; [|exact F]; simpl; lia.
  - constructor; [assumption|]. apply count_in_most; assumption.
Qed.

Lemma counted_in_order xs : in_order (counted xs).
Proof. induction xs; simpl; [constructor | apply count_in_order; assumption]. Qed.

Lemma counted_descending xs : descending (counted xs).
Proof. apply in_order_descending, counted_in_order. Qed.

(** *** The smallest first *)

Lemma everyone_app rows later : everyone (rows ++ later) = everyone rows ++ everyone later.
Proof. apply flat_map_app. Qed.

Lemma everyone_rev rows : Permutation (everyone (rev rows)) (everyone rows).
Proof.
  induction rows as [| row rows IH]; [reflexivity|]. simpl rev; rewrite everyone_app, IH.
  rewrite Permutation_app_comm. simpl; rewrite app_nil_r; reflexivity.
Qed.

Lemma everyone_mirrored rows : everyone (mirrored rows) = map Z.opp (everyone rows).
Proof.
  induction rows as [| [s n] rows IH]; [reflexivity|]. simpl. rewrite map_app. unfold everyone in *; rewrite <- IH. f_equal.
  simpl; clear; induction n; simpl; congruence.
Qed.

Lemma mirrored_in_order rows : in_order rows -> in_order (mirrored (rev rows)).
Proof.
  unfold mirrored; induction 1 as [| [s n] rows D IH F]; simpl; [constructor|]. rewrite map_app; simpl.
  assert (L : Forall (fun row => - s <= fst row) (map (fun row => (- fst row, snd row)) (rev rows))).
  { apply Forall_map, Forall_rev. eapply Forall_impl; [|exact F]; simpl; lia. }
  revert IH L; generalize (map (fun row : Z * nat => (- fst row, snd row)) (rev rows)) as first.
  induction first as [| row first IHf]; simpl; intros D' L; [repeat constructor|].
  inversion D'; inversion L; subst. constructor; [apply IHf; assumption|]. apply Forall_app; auto.
Qed.

(** *** The level of a table *)

Definition level_of_scores r lowest highest at_least xs :=
  let rows := counted xs in
  levels r lowest highest at_least (sum (fun row => fst row * Z.of_nat (snd row)) rows) rows (rev rows).

Lemma total_rows rows : sum (fun row => fst row * Z.of_nat (snd row)) rows = sum (fun s => s) (everyone rows).
Proof.
  induction rows as [| [s n] rows IH]; [reflexivity|]. change (everyone ((s, n) :: rows)) with (repeat s n ++ everyone rows).
  rewrite sum_app, sum_repeat, <- IH. simpl; lia.
Qed.

Lemma counted_lists r lowest xs : lists r lowest (counted xs) xs.
Proof.
  split; [apply counted_descending|]. exists []; split; [rewrite app_nil_r, counted_all; reflexivity | constructor].
Qed.

Lemma counted_lists_back r lowest xs : lists r lowest (mirrored (rev (counted xs))) (map Z.opp xs).
Proof.
  split; [apply in_order_descending, mirrored_in_order, counted_in_order|]. exists []; split; [|constructor].
  rewrite app_nil_r, everyone_mirrored. apply Permutation_map. rewrite everyone_rev, counted_all; reflexivity.
Qed.

(** The level is the distance, where there can be people with the lowest and with the highest score. *)
Theorem level_exact {person} r lowest highest at_least (score : person -> Z) bottom top c (a : people person r c) :
  (forall p, lowest <= score p <= highest) -> score bottom = lowest -> score top = highest ->
  exact (enough score at_least : people person r c -> bool) a (level_of_scores r lowest highest at_least (map score a)).
Proof.
  intros B L H; unfold level_of_scores; rewrite total_rows, (sum_permutation _ _ _ (counted_all _)), sum_map.
  apply levels_exact with bottom top; trivial; [apply counted_lists|].
  rewrite <- (map_map score Z.opp). apply counted_lists_back.
Qed.

(** Values within their bounds. (The code sends what is not a number to the lower one, too.) *)
Definition clipped lowest highest v := if v <=? lowest then lowest else Z.min v highest.

Definition level r lowest highest at_least values :=
  level_of_scores r lowest highest at_least (map (clipped lowest highest) values).

Lemma clipped_between lowest highest v : lowest <= highest -> lowest <= clipped lowest highest v <= highest.
Proof. unfold clipped; destruct (Z.leb_spec v lowest); lia. Qed.

Lemma clipped_low lowest highest : clipped lowest highest lowest = lowest.
Proof. unfold clipped; destruct (Z.leb_spec lowest lowest); lia. Qed.

Lemma clipped_high lowest highest : lowest <= highest -> clipped lowest highest highest = highest.
Proof. unfold clipped; destruct (Z.leb_spec highest lowest); lia. Qed.

Section Table.
Variables (r : relation) (lowest highest at_least : Z).
Hypothesis bounds : lowest <= highest.

(** In particular for numbers, whatever they are. *)
Theorem level_of_numbers c (a : people Z r c) :
  exact (enough (clipped lowest highest) at_least : people Z r c -> bool) a (level r lowest highest at_least a).
Proof.
  apply level_exact with lowest highest; auto using clipped_between, clipped_low, clipped_high.
Qed.

Lemma neighbours_map {A B} (f : A -> B) a b : neighbours r a b -> neighbours r (map f a) (map f b).
Proof.
  destruct r; simpl.
  - intros (p & [E | E]); exists (f p); [left | right]; apply (Permutation_map f E).
  - intros (p & q & c & E & E'); exists (f p), (f q), (map f c).
    split; [apply (Permutation_map f E) | apply (Permutation_map f E')].
Qed.

(** And for whatever people and values the level is private, if not always the distance. *)
Theorem level_levelling {person} (value : person -> Z) :
  levelling (blue : people person r (enough (fun p => clipped lowest highest (value p)) at_least) -> bool)
            (fun a => level r lowest highest at_least (map value a)).
Proof.
  pose proof (exact_levelling _ _ (level_of_numbers (fun _ => true))) as [S M]. split.
  - intros a; rewrite S; simpl; unfold enough. rewrite sum_map; reflexivity.
  - intros a b E; apply M. exact (neighbours_map value a b E).
Qed.

End Table.

(** *** Who matters *)

(** From which score on someone can be among the fewest changes; to raise a sum, the same of mirrored scores. *)
Definition matters_from r lowest := match r with add_remove => Z.max (- lowest) 0 + 1 | replace => lowest + 1 end.

Lemma matters_gain r lowest s : s < matters_from r lowest <-> gain (base r lowest) s <= newcomer r lowest.
Proof. destruct r; unfold gain; simpl; lia. Qed.

(** The rows may have those alone who matter, or others too, but then in their order. *)
Lemma matters_lists r lowest rows xs others : descending rows -> Permutation xs (everyone rows ++ others) ->
  Forall (fun s => s < matters_from r lowest) others -> lists r lowest rows xs.
Proof.
  intros D P F; split; [assumption|]. exists others; split; [assumption|].
  eapply Forall_impl; [|exact F]; intros s; apply matters_gain.
Qed.

Definition those_who_matter r lowest xs := filter (fun s => matters_from r lowest <=? s) xs.

Lemma filter_both {A} (f : A -> bool) xs : Permutation xs (filter f xs ++ filter (fun x => negb (f x)) xs).
Proof.
  induction xs as [| x xs IH]; simpl; [constructor|].
  destruct (f x); simpl; [constructor; assumption | apply Permutation_cons_app; assumption].
Qed.

Lemma those_lists r lowest xs : lists r lowest (counted (those_who_matter r lowest xs)) xs.
Proof.
  apply matters_lists with (filter (fun s => negb (matters_from r lowest <=? s)) xs); [apply counted_descending | |].
  - rewrite counted_all. apply (filter_both (fun s => matters_from r lowest <=? s)).
  - apply Forall_forall; intros s I; apply filter_In in I as [_ I]. lia.
Qed.

(** Where no score within the bounds matters ([None] in the code) nobody is looked at. *)
Lemma nobody_matters r lowest highest xs : highest < matters_from r lowest -> Forall (fun s => s <= highest) xs ->
  those_who_matter r lowest xs = [].
Proof.
  intros H; induction 1; simpl; [reflexivity|]. destruct (Z.leb_spec (matters_from r lowest) x); [lia | assumption].
Qed.

Lemma mirrored_twice rows : mirrored (mirrored rows) = rows.
Proof.
  unfold mirrored; rewrite map_map. rewrite <- map_id; apply map_ext; intros [s n]; simpl; f_equal; lia.
Qed.

(** Under add-remove that is so for at least one of the two ends. *)
Lemma one_end_at_most lowest highest : lowest <= highest ->
  highest < matters_from add_remove lowest \/ - lowest < matters_from add_remove (- highest).
Proof. simpl; lia. Qed.

(** Levels are the same if nobody else is looked at. *)
Theorem who_matters r lowest highest at_least values : lowest <= highest ->
  let xs := map (clipped lowest highest) values in
  let largest := counted (those_who_matter r lowest xs) in
  let smallest := mirrored (counted (those_who_matter r (- highest) (map Z.opp xs))) in
  levels r lowest highest at_least (sum (fun s => s) xs) largest smallest = level r lowest highest at_least values.
Proof.
  intros B xs largest smallest. set (c := enough (clipped lowest highest) at_least).
  apply (exact_once (c : people Z r c -> bool) values); [|apply level_of_numbers, B].
  unfold xs; rewrite sum_map. apply levels_exact with lowest highest; auto using clipped_between, clipped_low, clipped_high.
  - apply those_lists.
  - unfold smallest; rewrite mirrored_twice, <- (map_map (clipped lowest highest) Z.opp). apply those_lists.
Qed.

(** *** By hand, and as the code says them *)

Example majority : level add_remove (-1) 1 1 [1; 1; 1; 1; 1; 1; 1; -1; -1; -1; -1] = finite 2.
Proof. reflexivity. Qed.
Example fifty : level add_remove 0 1 50 (repeat 7 64) = finite 14 /\ level add_remove 0 1 50 (repeat 1 47) = finite (-3).
Proof. split; reflexivity. Qed.
Example greedy : level add_remove (-6) 9 3 [9; 4; 8; -2; -6] = finite 1 /\ level replace (-6) 9 3 [9; 4; 8; -2; -6] = finite 0.
Proof. split; reflexivity. Qed.
Example nothing_helps : level add_remove 0 0 1 [5; 5] = never /\ level replace 0 9 2 [1] = finite (-1) /\
  level replace 0 9 0 [] = always /\ level replace 2 9 3 [2; 2] = always /\ level add_remove 2 9 3 [2; 2] = finite 0.
Proof. repeat split. Qed.
