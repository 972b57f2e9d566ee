(** Is a sum over people at least so much? `duotone.questions.threshold.levels` is the distance to the other answer.

    A dataset is a list of people, and its order does not matter: neighbours are so up to permutation. Whoever could be in it
    has a score of [lowest] to [highest], and there can be people at both ends. The changes that [Fewest] counts can be made:
    who leaves, or comes down to the lowest score, or joins there, lowers the sum by their gain. And no change does more: cap
    everybody's score at a price above the base, and each change lowers the sum of capped scores by at most that price. *)

From Coq Require Import ZArith Lia Bool List Permutation.
From Duotone Require Import Graph Levels Sums Fewest.
Import ListNotations.
Open Scope Z_scope.

Inductive relation := add_remove | replace.

(** Under replace somebody may also stay as they are: that a dataset is its own neighbour changes no distance. *)
Definition neighbours {person} r (a b : list person) :=
  match r with
  | add_remove => exists p, Permutation a (p :: b) \/ Permutation b (p :: a)
  | replace => exists p q c, Permutation a (p :: c) /\ Permutation b (q :: c)
  end.

Lemma neighbours_symmetric {person} r (a b : list person) : neighbours r a b -> neighbours r b a.
Proof. destruct r; [intros (p & H); exists p; tauto | intros (p & q & c & H); exists q, p, c; tauto]. Qed.

Definition people person r (c : list person -> bool) : graph :=
  {| dataset := list person; near := neighbours r; near_symmetric := neighbours_symmetric r; blue := c |}.

Lemma walk_first {G : graph} n (a b d : G) : near a b -> walk n b d -> walk (S n) a d.
Proof. intros E W; replace (S n) with (n + 1)%nat by lia. apply walk_join with b; [apply walk_edge|]; assumption. Qed.

(** What gains are counted from, and what somebody who joins brings. *)
Definition base r lowest := match r with add_remove => 0 | replace => lowest end.
Definition newcomer r lowest := match r with add_remove => Z.max (- lowest) 0 | replace => 0 end.

Lemma newcomer_least r lowest : 0 <= newcomer r lowest.
Proof. destruct r; simpl; lia. Qed.

(** [lists r lowest rows xs]: the rows are the scores [xs], the largest first; who cannot help may be left out. *)
Definition lists r lowest rows xs := descending rows /\ exists others,
  Permutation xs (everyone rows ++ others) /\ Forall (fun s => gain (base r lowest) s <= newcomer r lowest) others.

Section Lowering.
Context {person : Type} (r : relation) (c : list person -> bool) (score : person -> Z) (lowest : Z) (bottom : person).
Hypothesis scores_least : forall p, lowest <= score p.
Hypothesis bottom_lowest : score bottom = lowest.
Notation G := (people person r c).
Notation total := (sum score).
Notation gain := (gain (base r lowest)).
Implicit Types a b d : G.

(** *** No change does more *)

Definition capped t a := sum (fun p => Z.min (score p) (base r lowest + t)) a.

Lemma capped_near a b t : near a b -> newcomer r lowest <= t -> capped t a <= capped t b + t.
Proof.
  unfold capped; intros E T. pose proof (newcomer_least r lowest).
  simpl in E; destruct r; simpl in *; [destruct E as (p & [E | E]) | destruct E as (p & q & e & E & E')].
  - rewrite (sum_permutation _ _ _ E); simpl; lia.
  - rewrite (sum_permutation _ _ _ E); simpl. specialize (scores_least p); lia.
  - rewrite (sum_permutation _ _ _ E), (sum_permutation _ _ _ E'); simpl. specialize (scores_least q); lia.
Qed.

Lemma capped_walk n a b t : newcomer r lowest <= t -> walk n a b -> capped t a <= capped t b + Z.of_nat n * t.
Proof.
  intros T; induction 1 as [| n a b e W IH E]; [lia|]. pose proof (capped_near b e t E T). lia.
Qed.

Lemma capped_total t a : total a = capped t a + sum (spare (base r lowest) t) (map score a).
Proof.
  unfold capped; rewrite sum_map, <- sum_plus. apply sum_same, Forall_forall; intros p _.
  unfold spare, Fewest.gain; lia.
Qed.

Lemma capped_less t a : capped t a <= total a.
Proof. unfold capped; induction a; simpl; lia. Qed.

Lemma walk_allowed n a b e : walk n a b -> total b + e <= total a ->
  allowed (base r lowest) (newcomer r lowest) (map score a) e (Z.of_nat n).
Proof.
  intros W L t T. pose proof (capped_walk n a b t T W). pose proof (capped_less t b). pose proof (capped_total t a). lia.
Qed.

(** *** The changes can be made *)

Lemma neighbours_permutation a a' b : Permutation a a' -> neighbours r a b -> neighbours r a' b.
Proof.
  intros P; destruct r; simpl.
  - intros (p & [E | E]); exists p; [left; rewrite <- P | right; rewrite <- P]; assumption.
  - intros (p & q & e & E & E'); exists p, q, e; rewrite <- P; auto.
Qed.

(** A walk of one edge or more can start from the same people in another order. *)
Lemma walk_permutation n a a' b : Permutation a a' -> walk (S n) a b -> walk (S n) a' b.
Proof.
  intros P W; remember (S n) as m eqn:M; revert n M; induction W as [| m a b e W IH E]; intros n M; [discriminate|].
  destruct m as [| m].
  - apply walk_none in W; subst b. apply walk_edge, (neighbours_permutation a); assumption.
  - eapply further; [apply (IH P m); reflexivity | assumption].
Qed.

(** Some leave, or come down. *)
Lemma leaving some rest : exists d : G, walk (length some) (some ++ rest : G) d /\
  total d = total (some ++ rest) - sum gain (map score some).
Proof.
  revert rest; induction some as [| p some IH]; intros rest; [exists rest; split; [constructor | simpl; lia]|].
  unfold Fewest.gain in *; destruct r; simpl base in *.
  - destruct (IH rest) as (d & W & T). exists d; split; [|simpl; rewrite T; simpl; lia].
    simpl length; apply walk_first with (some ++ rest); [exists p; left; reflexivity | assumption].
  - destruct (IH (bottom :: rest)) as (d & W & T). exists d; split.
    + simpl length; apply walk_first with (some ++ bottom :: rest); [|assumption].
      exists p, bottom, (some ++ rest); split; [reflexivity | symmetry; apply Permutation_middle].
    + rewrite T; simpl; rewrite !sum_app; simpl; lia.
Qed.

(** Some join. *)
Lemma coming j d : (newcomer r lowest = 0 -> j = 0%nat) ->
  exists d' : G, walk j d d' /\ total d' = total d - Z.of_nat j * newcomer r lowest.
Proof.
  intros Z. destruct (Z.eq_dec (newcomer r lowest) 0) as [N | N].
  - rewrite Z by assumption. exists d; split; [constructor | lia].
  - clear Z. destruct r; cbn [newcomer] in *; [|lia].
    induction j as [| j (d' & W & T)]; [exists d; split; [constructor | lia]|].
    exists (bottom :: d'); split; [eapply further; [exact W | exists bottom; right; reflexivity]|].
    change (total (bottom :: d')) with (score bottom + total d'). lia.
Qed.

Lemma fewest_reached a rows others e k : descending rows -> Permutation (map score a) (everyone rows ++ others) ->
  fewest (base r lowest) (newcomer r lowest) rows e = Some k ->
  exists b : G, walk (Z.to_nat k) a b /\ total b + e <= total a.
Proof.
  intros D P F.
  destruct (fewest_enough _ _ (newcomer_least _ _) _ _ _ D F) as (taken & rest & j & Q & -> & L & N).
  rewrite Q, <- app_assoc in P. symmetry in P. apply Permutation_map_inv in P as (a' & E & P).
  symmetry in E; apply map_eq_app in E as (some & others' & -> & <- & E).
  destruct (leaving some others') as (d & W & T), (coming j d N) as (b & V & T').
  rewrite map_length, Nat2Z.id. pose proof (walk_join _ _ _ _ _ W V) as U. rewrite Nat.add_comm in U.
  rewrite (sum_permutation score _ _ P). destruct (length some + j)%nat as [| n] eqn:Z.
  - exists a; split; [constructor|]. apply walk_none in U; subst b. rewrite <- (sum_permutation score _ _ P) in *. lia.
  - exists b; split; [apply walk_permutation with (some ++ others'); [symmetry|]; assumption | lia].
Qed.

(** The fewest changes that lower the sum are the distance to the datasets where it is lower. *)
Theorem fewest_is_distance a rows e : lists r lowest rows (map score a) ->
  match fewest (base r lowest) (newcomer r lowest) rows e with
  | Some k => 0 <= k /\ away (fun b => total b + e <= total a) (Z.to_nat k) a
  | None => forall n b, total b + e <= total a -> ~ walk n b a
  end.
Proof.
  intros Ls. assert (M : forall n b, total b + e <= total a -> walk n b a ->
    exists k, fewest (base r lowest) (newcomer r lowest) rows e = Some k /\ k <= Z.of_nat n).
  { intros n b L W; destruct Ls as (D & others & P & O).
    apply (fewest_needed _ _ (newcomer_least _ _) rows others); [assumption | assumption | lia|].
    apply allowed_permutation with (map score a); [assumption|]. eapply walk_allowed; [apply walk_back, W | assumption]. }
  destruct fewest as [k|] eqn:F; [|intros n b L W; destruct (M n b L W) as (? & ? & _); discriminate].
  split; [|split].
  - destruct Ls as [D _]; destruct (fewest_enough _ _ (newcomer_least _ _) _ _ _ D F) as (? & ? & ? & _ & -> & _). lia.
  - destruct Ls as (D & others & P & _), (fewest_reached a rows others e k D P F) as (b & W & L).
    exists b; split; [assumption | apply walk_back, W].
  - intros n b L W; destruct (M n b L W) as (k' & E & ?). injection E as <-. lia.
Qed.

End Lowering.

(** *** Levels *)

Definition mirrored (rows : tally) : tally := map (fun row => (- fst row, snd row)) rows.

Definition levels r lowest highest at_least total largest smallest :=
  let surplus := total - at_least in
  if 0 <=? surplus
  then match fewest (base r lowest) (newcomer r lowest) largest (surplus + 1) with
       | Some down => finite (down - 1) | None => always end
  else match fewest (base r (- highest)) (newcomer r (- highest)) (mirrored smallest) (- surplus) with
       | Some up => finite (- up) | None => never end.

Section Threshold.
Context {person : Type} (r : relation) (score : person -> Z) (lowest highest at_least : Z) (bottom top : person).
Hypothesis scores_between : forall p, lowest <= score p <= highest.
Hypothesis bottom_lowest : score bottom = lowest.
Hypothesis top_highest : score top = highest.

Definition enough (a : list person) := at_least <=? sum score a.

(** (The graph may have another question of its own.) *)
Variable c : list person -> bool.
Notation G := (people person r c).

Lemma flips_away (q : G -> bool) (a : G) (A : G -> Prop) k : (forall b, A b <-> q b <> q a) ->
  away A k a -> flips q a (Some k).
Proof. intros E ((b & Hb & W) & M); split; [exists b; rewrite <- E; auto | intros m e He; apply M, E, He]. Qed.

Theorem levels_exact (a : G) largest smallest :
  lists r lowest largest (map score a) -> lists r (- highest) (mirrored smallest) (map (fun p => - score p) a) ->
  exact (enough : G -> bool) a (levels r lowest highest at_least (sum score a) largest smallest).
Proof.
  intros L S; unfold levels.
  assert (V : enough a = (0 <=? sum score a - at_least)) by (unfold enough; lia).
  destruct (0 <=? sum score a - at_least) eqn:Y.
  - assert (E : forall b, sum score b + (sum score a - at_least + 1) <= sum score a <-> enough b <> enough a)
      by (intros b; rewrite V; unfold enough; lia).
    pose proof (fewest_is_distance r c score lowest bottom (fun p => proj1 (scores_between p)) bottom_lowest
                  a largest (sum score a - at_least + 1) L) as F.
    destruct fewest as [k|]; [destruct F as [P F]; exists (Some (Z.to_nat k)) | exists None]; rewrite V; split.
    + exact (flips_away enough a _ _ E F).
    + simpl; f_equal; lia.
    + intros n b Hb; apply (F n b); apply E, Hb.
    + reflexivity.
  - assert (E : forall b, sum (fun p => - score p) b + - (sum score a - at_least) <= sum (fun p => - score p) a <->
                          enough b <> enough a)
      by (intros b; rewrite V, !sum_opposite; unfold enough; lia).
    assert (B : forall p, - highest <= - score p) by (intros p; specialize (scores_between p); lia).
    pose proof (fewest_is_distance r c (fun p => - score p) (- highest) top B (f_equal Z.opp top_highest)
                  a _ (- (sum score a - at_least)) S) as F.
    destruct fewest as [k|]; [destruct F as [P F]; exists (Some (Z.to_nat k)) | exists None]; rewrite V; split.
    + exact (flips_away enough a _ _ E F).
    + simpl; f_equal; lia.
    + intros n b Hb; apply (F n b); apply E, Hb.
    + reflexivity.
Qed.

End Threshold.
