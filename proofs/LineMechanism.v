(** Levels: the line of all integers, and the mechanism that the code reads at a dataset's level (`LineMechanism`).

    Level l >= 0 is a blue dataset l edges from the blue boundary, l <= -1 a red one -1 - l edges from the red boundary. Any map
    to levels that moves by at most one between neighbours, with its sign for the colour, gives a private mechanism: it is a
    morphism to the line. The exact signed distance gives the best one, and no other map a better one. *)

From Coq Require Import Reals Lra Lia ZArith.
From Duotone Require Import Step Graph Morphism Homogeneous.
Open Scope R_scope.

(** The line without ends. *)
Definition integers : graph.
Proof.
  refine {| dataset := Z; near := fun i j => (Z.abs (i - j) = 1)%Z; blue := fun i => (0 <=? i)%Z |}.
  intros i j; lia.
Defined.

Lemma integers_walk_least n (i j : integers) : walk n i j -> (Z.abs (i - j) <= Z.of_nat n)%Z.
Proof. induction 1 as [| n i j k W IH E]; [lia|]. simpl in E. lia. Qed.

Lemma integers_walk n (i j : integers) : (Z.abs (i - j) = Z.of_nat n)%Z -> walk n i j.
Proof.
  revert j; induction n as [| n IH]; intros j H; [replace j with i by lia; constructor|].
  apply (further n i (if i <? j then j - 1 else j + 1)%Z); [apply IH|]; destruct (Z.ltb_spec i j); simpl; lia.
Qed.

(** The two boundaries are the levels 0 and -1. *)
Lemma integers_boundary colour (i : integers) : boundary colour i <-> i = if colour then 0%Z else (-1)%Z.
Proof.
  destruct colour; simpl; split.
  - intros (C & j & E & D); simpl in *. apply Z.leb_le in C; apply Z.leb_gt in D; lia.
  - intros ->; split; [reflexivity | exists (-1)%Z; split; reflexivity].
  - intros (C & j & E & D); simpl in *. apply Z.leb_gt in C; apply Z.leb_le in D; lia.
  - intros ->; split; [reflexivity | exists 0%Z; split; reflexivity].
Qed.

(** A level is its own signed distance. *)
Lemma integers_away (l : integers) : away (boundary (blue l)) (Z.to_nat (if (0 <=? l)%Z then l else -1 - l)) l.
Proof.
  change (blue l) with (0 <=? l)%Z; destruct (Z.leb_spec 0 l); split.
  - exists 0%Z; split; [apply integers_boundary; reflexivity | apply integers_walk; lia].
  - intros n b B W; apply integers_boundary in B; apply integers_walk_least in W; subst b; lia.
  - exists (-1)%Z; split; [apply integers_boundary; reflexivity | apply integers_walk; lia].
  - intros n b B W; apply integers_boundary in B; apply integers_walk_least in W; subst b; lia.
Qed.

Section Level.
Variable P : closeness.

(** `LineMechanism.yes`: the truth has probability [b] at level 0 and [r] at level -1. *)
Definition line_mechanism (b r : R) : mechanism integers :=
  fun l => if (0 <=? l)%Z then steps P (Z.to_nat l) b else 1 - steps P (Z.to_nat (-1 - l)) r.

(** One level further up, on either side of the boundary. *)
Lemma line_mechanism_up b r l : probability b -> probability r -> b <= step P (1 - r) -> 1 - r <= step P b ->
  line_mechanism b r (Z.succ l) <= step P (line_mechanism b r l) /\
  line_mechanism b r l <= step P (line_mechanism b r (Z.succ l)).
Proof.
  intros Hb Hr U V; unfold line_mechanism.
  destruct (Z.leb_spec 0 l), (Z.leb_spec 0 (Z.succ l)); try lia.
  - rewrite Z2Nat.inj_succ by assumption; simpl. pose proof (steps_probability P (Z.to_nat l) b Hb) as H1.
    destruct (step_probability P _ H1), H1; split; [lra|].
    apply Rle_trans with (step P (steps P (Z.to_nat l) b)); apply step_extends; lra.
  - replace l with (-1)%Z by lia; simpl. split; lra.
  - replace (-1 - l)%Z with (Z.succ (-1 - Z.succ l)) by lia. rewrite Z2Nat.inj_succ by lia; simpl.
    pose proof (steps_probability P (Z.to_nat (-1 - Z.succ l)) r Hr) as H1. set (x := steps P _ r) in *.
    pose proof (step_dual P x H1) as D. destruct (step_probability P x H1), H1. split; [lra|].
    apply Rle_trans with (1 - x); [|apply step_extends]; [enough (x <= step P x) by lra; apply step_extends|..]; lra.
Qed.

(** It is private where its two values at the boundary are. *)
Theorem line_mechanism_private b r : probability b -> probability r -> b <= step P (1 - r) -> 1 - r <= step P b ->
  private P (line_mechanism b r).
Proof.
  intros Hb Hr U V; apply private_steps; split.
  - intros l; unfold line_mechanism; destruct (0 <=? l)%Z; [apply steps_probability, Hb|].
    destruct (steps_probability P (Z.to_nat (-1 - l)) r Hr); split; lra.
  - intros i j E; simpl in i, j, E.
    assert (j = Z.succ i \/ i = Z.succ j) as [-> | ->] by lia; apply line_mechanism_up; assumption.
Qed.

(** `with_boundary`: the value x at level 0, and then the most that is possible at level -1. *)
Definition with_boundary x := line_mechanism x (step P (1 - x)).

Theorem with_boundary_private x : probability x -> private P (with_boundary x).
Proof.
  intros Hx; assert (Hn : probability (1 - x)) by (destruct Hx; split; lra).
  pose proof (step_probability P _ Hn) as Hr. pose proof (step_dual P (1 - x) Hn).
  apply line_mechanism_private; try assumption; [lra|].
  apply Rle_trans with x; [|apply step_extends; apply Hx].
  enough (1 - x <= step P (1 - x)) by lra. apply step_extends; apply Hn.
Qed.

(** `partition_selection`: no at level -1, and the most that is then possible at level 0. It has a blue boundary value too. *)
Definition partition_selection := line_mechanism (step P 0) 1.

Theorem partition_selection_is l : partition_selection l = with_boundary (step P 0) l.
Proof.
  unfold partition_selection, with_boundary. replace (step P (1 - step P 0)) with 1; [reflexivity|].
  apply Rle_antisym; [|apply step_most]. replace 1 with (1 - 0) at 1 by ring. apply step_dual; split; lra.
Qed.

Corollary partition_selection_private : private P partition_selection.
Proof.
  pose proof (with_boundary_private (step P 0)) as H. destruct H as [Hp H]; [apply step_probability; split; lra|].
  split; [intros l | intros i j E]; rewrite !partition_selection_is; auto.
Qed.

(** Levels of the datasets of a graph. *)
Section Graph.
Context {G : graph} (level : G -> Z).
Hypothesis smooth : forall a b, near a b -> (Z.abs (level a - level b) <= 1)%Z.
Hypothesis signed : forall a, blue a = (0 <=? level a)%Z.

Lemma level_morphism : @morphism G integers level.
Proof. intros a b E; specialize (smooth a b E). destruct (Z.eq_dec (level a) (level b)); [left | right; simpl]; lia. Qed.

(** Any such levels are safe. *)
Theorem levels_private M : private P M -> private P (@pullback G integers level M).
Proof. apply theorem_1, level_morphism. Qed.

(** A blue boundary dataset has level 0. *)
Lemma level_boundary b : blue_boundary b -> level b = 0%Z.
Proof.
  intros (C & c & E & D); specialize (smooth b c E). rewrite signed in C, D.
  apply Z.leb_le in C; apply Z.leb_gt in D; lia.
Qed.

Variable x : R.
Hypothesis Hx : probability x.

(** None is better than the optimum ... *)
Theorem levels_dominated : dominates (homogeneous_optimum P G x Hx) (@pullback G integers level (with_boundary x)).
Proof.
  apply homogeneous_dominates; [apply levels_private, with_boundary_private, Hx|].
  intros b Hb; unfold pullback; rewrite level_boundary by assumption; reflexivity.
Qed.

End Graph.

(** ... and the signed distance to the boundary of one's own colour, `ColouredGraph.level`, is as good, dataset by dataset. *)
Definition signed_distance (colour : bool) (k : nat) : Z := if colour then Z.of_nat k else (-1 - Z.of_nat k)%Z.

Theorem signed_distance_optimal (G : graph) x (Hx : probability x) (a : G) k : away (boundary (blue a)) k a ->
  with_boundary x (signed_distance (blue a) k) = homogeneous_optimum P G x Hx a.
Proof.
  unfold with_boundary, line_mechanism, signed_distance; destruct (blue a) eqn:C; simpl boundary; intros A.
  - rewrite (blue_truth P G x Hx k a C A). destruct (Z.leb_spec 0 (Z.of_nat k)); [|lia]. rewrite Nat2Z.id; reflexivity.
  - pose proof (red_truth P G x Hx k a C A). destruct (Z.leb_spec 0 (-1 - Z.of_nat k)); [lia|].
    replace (-1 - (-1 - Z.of_nat k))%Z with (Z.of_nat k) by lia. rewrite Nat2Z.id; lra.
Qed.

(** On the line itself: at no level is another private mechanism with this boundary value more often right. *)
Corollary with_boundary_optimal x (Hx : probability x) (l : integers) :
  with_boundary x l = homogeneous_optimum P integers x Hx l.
Proof.
  rewrite <- (signed_distance_optimal integers x Hx l _ (integers_away l)). f_equal; unfold signed_distance.
  change (blue l) with (0 <=? l)%Z; destruct (Z.leb_spec 0 l); lia.
Qed.

(** The signed distance has what is asked of levels, where every dataset has one. *)
Theorem signed_distance_is_level (G : graph) (distance : G -> nat) :
  (forall a, away (boundary (blue a)) (distance a) a) ->
  let level := fun a => signed_distance (blue a) (distance a) in
  (forall a b, near a b -> (Z.abs (level a - level b) <= 1)%Z) /\ forall a, blue a = (0 <=? level a)%Z.
Proof.
  intros D level; unfold level, signed_distance; split.
  - intros a b E. destruct (Bool.bool_dec (blue a) (blue b)) as [C | C].
    + pose proof (D a) as A; pose proof (D b) as B. rewrite <- C in *.
      pose proof (away_near _ _ _ a b E A B). pose proof (away_near _ _ _ b a (near_symmetric E) B A).
      destruct (blue a); lia.
    + destruct (both_boundary a b E C) as [Ba Bb].
      pose proof (away_once _ _ _ a (D a) (away_inside _ a Ba)) as ->.
      pose proof (away_once _ _ _ b (D b) (away_inside _ b Bb)) as ->.
      destruct (blue a), (blue b); congruence || lia.
  - intros a; destruct (blue a); symmetry; [apply Z.leb_le | apply Z.leb_gt]; lia.
Qed.

End Level.
