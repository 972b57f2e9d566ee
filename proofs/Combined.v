(** And, or, not: questions made of questions (`duotone.questions.protocol`), on one graph.

    `and` takes the least of the levels, `or` the greatest, and `not` -1 less the level. All three keep levellings, so answers
    stay private. Not keeps exactness. And is exact at a yes, which ends as soon as one part does; at a no it is a bound, since
    several parts may have to be turned ([and_inexact] is an example). Or is the mirror image. *)

From Coq Require Import ZArith Lia Bool List.
From Duotone Require Import Graph Levels.
Import ListNotations.
Open Scope Z_scope.

(** And, or, not of levels. *)
Definition least x y :=
  match x, y with never, _ | _, never => never | always, z | z, always => z | finite m, finite n => finite (Z.min m n) end.
Definition greatest x y :=
  match x, y with always, _ | _, always => always | never, z | z, never => z | finite m, finite n => finite (Z.max m n) end.
Definition opposite x := match x with never => always | finite z => finite (-1 - z) | always => never end.

Ltac by_level := repeat match goal with x : level |- _ => destruct x end;
  cbn [yes below within least greatest opposite] in *; try easy; try (f_equal; lia); try lia.

Lemma greatest_least x y : greatest x y = opposite (least (opposite x) (opposite y)).
Proof. by_level. Qed.

Lemma opposite_twice x : opposite (opposite x) = x.
Proof. by_level. Qed.

Lemma opposite_yes x : yes (opposite x) = negb (yes x).
Proof. by_level. Qed.

Lemma least_yes x y : yes (least x y) = yes x && yes y.
Proof. by_level. Qed.

Lemma opposite_level_of v d : opposite (level_of v d) = level_of (negb v) d.
Proof. destruct v, d; unfold opposite, level_of, negb; trivial; f_equal; lia. Qed.

Lemma within_least n x y x' y' : within n x x' -> within n y y' -> within n (least x y) (least x' y').
Proof. by_level. Qed.

Lemma within_opposite n x y : within n x y -> within n (opposite x) (opposite y).
Proof. by_level. Qed.

Section Combined.
Context {G : graph}.
Implicit Types (a b : G) (c : G -> bool) (l : G -> level).

(** *** Not *)

Lemma not_levelling c l : levelling c l -> levelling (fun a => negb (c a)) (fun a => opposite (l a)).
Proof.
  intros [S M]; split; intros; [rewrite opposite_yes, S; reflexivity | apply within_opposite, M; assumption].
Qed.

Lemma flips_not c a d : flips c a d <-> flips (fun b => negb (c b)) a d.
Proof.
  assert (N : forall b, c b <> c a <-> negb (c b) <> negb (c a))
    by (intros b; destruct (c b), (c a); simpl; intuition congruence).
  destruct d; simpl; [unfold away|]; setoid_rewrite N; reflexivity.
Qed.

(** A negation is as exact as the question itself. *)
Theorem not_exact c a x : exact c a x <-> exact (fun b => negb (c b)) a (opposite x).
Proof.
  split; intros (d & F & E); exists d; (split; [apply (flips_not c a d), F|]).
  - rewrite E; apply opposite_level_of.
  - rewrite <- (opposite_twice x), E, opposite_level_of, negb_involutive; reflexivity.
Qed.

(** *** And *)

Lemma and_levelling c c' l l' :
  levelling c l -> levelling c' l' -> levelling (fun a => c a && c' a) (fun a => least (l a) (l' a)).
Proof.
  intros [S M] [S' M']; split; intros; [rewrite least_yes, S, S'; reflexivity | apply within_least; auto].
Qed.

Definition sooner d d' :=
  match d, d' with Some m, Some n => Some (Nat.min m n) | Some n, None | None, Some n => Some n | None, None => None end.

Lemma least_level_of d d' : least (level_of true d) (level_of true d') = level_of true (sooner d d').
Proof. destruct d, d'; unfold least, level_of, sooner; trivial; f_equal; lia. Qed.

(** A yes ends when one of its parts does: there the least level is exact. *)
Theorem and_exact_at_yes c c' a x y : c a = true -> c' a = true ->
  exact c a x -> exact c' a y -> exact (fun b => c b && c' b) a (least x y).
Proof.
  intros Y Y' (d & F & ->) (d' & F' & ->). exists (sooner d d'). rewrite Y, Y' in *; split; [|apply least_level_of].
  unfold flips in *; cbv beta; rewrite Y, Y' in *; simpl.
  assert (N : forall b, c b && c' b <> true <-> c b <> true \/ c' b <> true)
    by (intros b; destruct (c b), (c' b); simpl; intuition congruence).
  destruct d as [m|], d' as [n|]; simpl.
  - destruct F as ((b & Hb & W) & M), F' as ((e & He & V) & M'). split.
    + destruct (Nat.min_spec m n) as [[_ ->] | [_ ->]]; [exists b | exists e]; rewrite N; auto.
    + intros k g Hg U; apply N in Hg as [Hg | Hg]; [specialize (M _ _ Hg U) | specialize (M' _ _ Hg U)]; lia.
  - destruct F as ((b & Hb & W) & M). split; [exists b; rewrite N; auto|].
    intros k g Hg U; apply N in Hg as [Hg | Hg]; [eauto | destruct (F' _ _ Hg U)].
  - destruct F' as ((b & Hb & W) & M). split; [exists b; rewrite N; auto|].
    intros k g Hg U; apply N in Hg as [Hg | Hg]; [destruct (F _ _ Hg U) | eauto].
  - intros k g Hg U; apply N in Hg as [Hg | Hg]; [destruct (F _ _ Hg U) | destruct (F' _ _ Hg U)].
Qed.

(** A no may need several parts turned, so there it is a bound ([and_inexact] below) - but not if the others still hold wherever
    the one that fails is turned: as in "count = t", the `and` of at least t and at most t. *)
Theorem and_exact_at_no c c' a x y : c a = false -> c' a = true ->
  (forall b e, near b e -> c b = false -> c e = true -> c' e = true) ->
  exact c a x -> exact c' a y -> exact (fun b => c b && c' b) a (least x y).
Proof.
  intros N Y turned (d & F & ->) X'. apply exact_side in X'; rewrite Y in X'. exists d. split; cycle 1.
  { cbv beta; rewrite N; unfold andb. destruct d as [n|], y; unfold least, level_of, yes in *; try easy.
    apply Z.leb_le in X'; f_equal; lia. }
  unfold flips in *; cbv beta; rewrite N in *; simpl. destruct d as [n|].
  - destruct F as ((b & Hb & W) & M). split; [|intros m e He; apply M; destruct (c e); simpl in *; congruence].
    exists b; split; [|assumption]. enough (c' b = true) as -> by (destruct (c b); simpl; congruence).
    apply walk_back in W. inversion W as [| k ? e ? V E]; subst; [congruence|].
    apply (turned e b E); [|destruct (c b); congruence].
    apply not_true_is_false; intros T. specialize (M k e); rewrite T in M. apply walk_back in V.
    enough (S k <= k)%nat by lia. apply M; [congruence | assumption].
  - intros m e He; apply F; destruct (c e); simpl in *; congruence.
Qed.

(** Two questions of a number that moves by at most one: is it at least t, is it at most t? Their `and` is exact everywhere. *)
Theorem equal_exact (f : G -> Z) t a x y : (forall b e, near b e -> Z.abs (f b - f e) <= 1) ->
  exact (fun b => t <=? f b) a x -> exact (fun b => f b <=? t) a y ->
  exact (fun b => (t <=? f b) && (f b <=? t)) a (least x y).
Proof.
  intros M X Y. destruct (Z.lt_trichotomy (f a) t) as [L | [E | L]].
  - apply (and_exact_at_no (fun b => t <=? f b) (fun b => f b <=? t)); trivial; try lia.
    intros b e N; specialize (M b e N); lia.
  - apply (and_exact_at_yes (fun b => t <=? f b) (fun b => f b <=? t)); trivial; lia.
  - apply exact_same with (fun b => (f b <=? t) && (t <=? f b)); [intros; apply andb_comm|].
    replace (least x y) with (least y x) by (clear; by_level).
    apply (and_exact_at_no (fun b => f b <=? t) (fun b => t <=? f b)); trivial; try lia.
    intros b e N; specialize (M b e N); lia.
Qed.

(** Several at once, as [Combined] takes them: pairs of a colour and its levels. *)
Definition all_of (parts : list ((G -> bool) * (G -> level))) a := forallb (fun p => fst p a) parts.
Definition least_of (parts : list ((G -> bool) * (G -> level))) a := fold_right (fun p => least (snd p a)) always parts.

Theorem all_levelling parts : Forall (fun p => levelling (fst p) (snd p)) parts -> levelling (all_of parts) (least_of parts).
Proof. induction 1; [split; intros; simpl; trivial | apply and_levelling; assumption]. Qed.

Theorem all_exact_at_yes parts a : Forall (fun p => exact (fst p) a (snd p a)) parts -> all_of parts a = true ->
  exact (all_of parts) a (least_of parts a).
Proof.
  induction 1 as [| p parts X _ IH]; simpl; intros Y.
  - exists None; split; [intros n b Hb; destruct Hb; reflexivity | reflexivity].
  - apply andb_prop in Y as [Y Y']. apply (and_exact_at_yes (fst p) (all_of parts)); auto.
Qed.

(** *** Or, which is not (not and not) *)

Lemma or_levelling c c' l l' :
  levelling c l -> levelling c' l' -> levelling (fun a => c a || c' a) (fun a => greatest (l a) (l' a)).
Proof.
  intros L L'. destruct (not_levelling _ _ (and_levelling _ _ _ _ (not_levelling _ _ L) (not_levelling _ _ L'))) as [S M].
  split; intros; rewrite !greatest_least; [rewrite S, negb_andb, !negb_involutive; reflexivity | auto].
Qed.

(** A no ends when one of the parts does. *)
Theorem or_exact_at_no c c' a x y : c a = false -> c' a = false ->
  exact c a x -> exact c' a y -> exact (fun b => c b || c' b) a (greatest x y).
Proof.
  intros N N' X X'. rewrite greatest_least.
  apply exact_same with (fun b => negb (negb (c b) && negb (c' b)));
    [intros b; rewrite negb_andb, !negb_involutive; reflexivity|].
  apply (not_exact (fun b => negb (c b) && negb (c' b))). apply not_exact in X, X'.
  apply and_exact_at_yes; rewrite ?N, ?N'; auto.
Qed.

Definition any_of (parts : list ((G -> bool) * (G -> level))) a := existsb (fun p => fst p a) parts.
Definition greatest_of (parts : list ((G -> bool) * (G -> level))) a := fold_right (fun p => greatest (snd p a)) never parts.

Theorem any_levelling parts : Forall (fun p => levelling (fst p) (snd p)) parts -> levelling (any_of parts) (greatest_of parts).
Proof. induction 1; [split; intros; simpl; trivial | apply or_levelling; assumption]. Qed.

Theorem any_exact_at_no parts a : Forall (fun p => exact (fst p) a (snd p a)) parts -> any_of parts a = false ->
  exact (any_of parts) a (greatest_of parts a).
Proof.
  induction 1 as [| p parts X _ IH]; simpl; intros N.
  - exists None; split; [intros n b Hb; destruct Hb; reflexivity | reflexivity].
  - apply orb_false_elim in N as [N N']. apply (or_exact_at_no (fst p) (any_of parts)); auto.
Qed.

End Combined.

(** *** Where and, or are bounds only: two people of one bit each, and a change turns one bit *)

Definition turn_one (a b : bool * bool) :=
  (fst a <> fst b /\ snd a = snd b) \/ (fst a = fst b /\ snd a <> snd b).

Lemma turn_one_symmetric a b : turn_one a b -> turn_one b a.
Proof. unfold turn_one; intuition congruence. Qed.

Definition two_bits : graph :=
  {| dataset := bool * bool; near := turn_one; near_symmetric := turn_one_symmetric; blue := fun a => fst a && snd a |}.

Lemma one_bit (c : two_bits -> bool) a b : turn_one a b -> c b <> c a -> exact c a (level_of (c a) (Some 1%nat)).
Proof.
  intros E N; exists (Some 1%nat); split; [|reflexivity]. split.
  { exists b; split; [assumption | apply walk_edge, turn_one_symmetric, E]. }
  intros [|m] e He W; [apply walk_none in W; congruence | lia].
Qed.

Lemma both_bits (c : two_bits -> bool) v : c (v, v) <> c (negb v, negb v) ->
  c (v, negb v) = c (v, v) -> c (negb v, v) = c (v, v) -> exact c (v, v) (level_of (c (v, v)) (Some 2%nat)).
Proof.
  intros N E E'; exists (Some 2%nat); split; [|reflexivity]. split.
  - exists (negb v, negb v); split; [congruence|].
    apply further with (v, negb v); [apply walk_edge|]; unfold near, two_bits, turn_one; destruct v; intuition discriminate.
  - intros [|[|m]] e He W; [apply walk_none in W; congruence | | lia].
    inversion W as [| ? ? e' ? V F]; subst. apply walk_none in V; subst e'.
    destruct e as [x y]; destruct v, x, y, F as [[? ?] | [? ?]]; simpl in *; congruence.
Qed.

(** At (no, no) both parts are one change from yes, and so is the least level; but their `and` is two away. *)
Theorem and_inexact : let a := (false, false) : two_bits in
  exact (fst : two_bits -> bool) a (finite (-1)) /\ exact (snd : two_bits -> bool) a (finite (-1)) /\
  exact (fun b : two_bits => fst b && snd b) a (finite (-2)) /\ least (finite (-1)) (finite (-1)) = finite (-1).
Proof.
  repeat split.
  - apply (one_bit fst (false, false) (true, false)); unfold turn_one; simpl; intuition discriminate.
  - apply (one_bit snd (false, false) (false, true)); unfold turn_one; simpl; intuition discriminate.
  - apply (both_bits (fun b => fst b && snd b) false); easy.
Qed.

Theorem or_inexact : let a := (true, true) : two_bits in
  exact (fst : two_bits -> bool) a (finite 0) /\ exact (snd : two_bits -> bool) a (finite 0) /\
  exact (fun b : two_bits => fst b || snd b) a (finite 1) /\ greatest (finite 0) (finite 0) = finite 0.
Proof.
  repeat split.
  - apply (one_bit fst (true, true) (false, true)); unfold turn_one; simpl; intuition discriminate.
  - apply (one_bit snd (true, true) (true, false)); unfold turn_one; simpl; intuition discriminate.
  - apply (both_bits (fun b => fst b || snd b) true); easy.
Qed.
