(** Definition 9, the boundary morphism, and Theorem 3: every homogeneous optimum is that of a line, pulled back.

    A dataset goes to the place on the line that has its colour and its distance to the boundary of that colour. Distances
    differ by at most one between neighbours, so this is a morphism; and the optimum is a function of colour and distance, on
    the line as on any graph. So the line's own optimum, read there, is the graph's. In the code: `boundary_morphism`, which
    refuses graphs with datasets that reach no boundary; here these go to the line's isolated datasets. *)

From Coq Require Import Reals Lra Lia Arith Bool.
From Duotone Require Import Step Graph Morphism Optimum Homogeneous Line.
Open Scope nat_scope.

Section Morphism.
Context {G : graph} (nB nR : nat) (distance : G -> option nat).
Hypothesis measured : measures distance.

(** The line is long enough. Definition 9 takes the shortest such line; a longer one does no harm. *)
Definition long_enough := forall a k, distance a = Some k -> if blue a then k < nB else k < nR.
Hypothesis long : long_enough.

(** Definition 9. The paper's datasets all reach a boundary; others go to isolated places here. *)
Definition boundary_morphism (a : G) : line nB nR :=
  match distance a, blue a with
  | Some k, true => nB - k
  | Some k, false => nB + 1 + k
  | None, true => 0
  | None, false => nB + nR + 1
  end.

Lemma boundary_distance a : boundary (blue a) a -> distance a = Some 0.
Proof.
  intros H; pose proof (measured a) as A; destruct (distance a) as [k|].
  - f_equal; apply (away_once (boundary (blue a)) k 0 a); [assumption | apply away_inside, H].
  - destruct (A a 0 H); constructor.
Qed.

(** Who reaches a boundary lies on the line, and the line has both colours. *)
Lemma both_sides a k : distance a = Some k -> 1 <= nB /\ 1 <= nR.
Proof.
  intros D; pose proof (measured a) as A; rewrite D in A; destruct A as ((b & Hb & _) & _).
  assert (exists c, near b c /\ blue b <> blue c) as (c & E & N).
  { destruct (blue a), Hb as (Cb & c & E & Cc); exists c; split; auto; congruence. }
  destruct (both_boundary b c E N) as [Bb Bc].
  pose proof (long b 0 (boundary_distance b Bb)); pose proof (long c 0 (boundary_distance c Bc)).
  destruct (blue b), (blue c); congruence || lia.
Qed.

Lemma boundary_morphism_keeps_colour : keeps_colour boundary_morphism.
Proof.
  intros a; unfold boundary_morphism; pose proof (long a) as F; destruct (distance a) as [k|], (blue a);
    simpl; [apply Nat.leb_le | apply Nat.leb_gt | reflexivity | apply Nat.leb_gt]; lia.
Qed.

(** Neighbours are as far as each other or differ by one; both reach a boundary or neither does. *)
Lemma near_same_colour a b : near a b -> blue a = blue b ->
  match distance a, distance b with
  | Some j, Some k => k <= S j /\ j <= S k
  | None, None => True
  | _, _ => False
  end.
Proof.
  intros E C; pose proof (measured a) as A; pose proof (measured b) as B; rewrite <- C in B.
  destruct (distance a) as [j|], (distance b) as [k|]; auto.
  - split; [apply (away_near _ j k a b E A B) | apply (away_near _ k j b a (near_symmetric E) B A)].
  - destruct A as ((c & Hc & W) & _). apply (B c (S j) Hc). eapply further; eassumption.
  - destruct B as ((c & Hc & W) & _). apply (A c (S k) Hc). eapply further; [eassumption | apply near_symmetric, E].
Qed.

Theorem boundary_morphism_morphism : morphism boundary_morphism.
Proof.
  intros a b E; unfold boundary_morphism.
  destruct (bool_dec (blue a) (blue b)) as [C | C].
  - pose proof (near_same_colour a b E C) as N; pose proof (long a) as Fa; pose proof (long b) as Fb. rewrite <- C in *.
    destruct (distance a) as [j|], (distance b) as [k|]; try tauto.
    specialize (Fa _ eq_refl); specialize (Fb _ eq_refl).
    pose proof (Nat.eq_dec j k). destruct (blue a); simpl; lia.
  - destruct (both_boundary a b E C) as [Ba Bb]. apply boundary_distance in Ba; apply boundary_distance in Bb.
    destruct (both_sides a 0 Ba) as [? ?]. rewrite Ba, Bb.
    destruct (blue a), (blue b); try congruence; right; simpl; lia.
Qed.

(** It keeps distances to the boundary, finite and infinite. *)
Theorem boundary_morphism_keeps_distance a : line_distance nB nR (boundary_morphism a) = distance a.
Proof.
  unfold boundary_morphism, line_distance; pose proof (long a) as F; pose proof (both_sides a) as S.
  destruct (distance a) as [k|].
  - specialize (F _ eq_refl); destruct (S _ eq_refl).
    replace (nB =? 0) with false by (symmetry; apply Nat.eqb_neq; lia).
    replace (nR =? 0) with false by (symmetry; apply Nat.eqb_neq; lia). rewrite !orb_false_r. destruct (blue a).
    + replace (nB - k =? 0) with false by (symmetry; apply Nat.eqb_neq; lia).
      replace (nB + nR <? nB - k) with false by (symmetry; apply Nat.ltb_ge; lia).
      replace (nB - k <=? nB) with true by (symmetry; apply Nat.leb_le; lia). cbn [orb]; f_equal; lia.
    + replace (nB + 1 + k =? 0) with false by (symmetry; apply Nat.eqb_neq; lia).
      replace (nB + nR <? nB + 1 + k) with false by (symmetry; apply Nat.ltb_ge; lia).
      replace (nB + 1 + k <=? nB) with false by (symmetry; apply Nat.leb_gt; lia). cbn [orb]; f_equal; lia.
  - destruct (blue a); [reflexivity|].
    replace (nB + nR <? nB + nR + 1) with true by (symmetry; apply Nat.ltb_lt; lia). rewrite orb_true_r; reflexivity.
Qed.

Corollary boundary_morphism_away a k : away (boundary (blue a)) k a -> away (boundary (blue a)) k (boundary_morphism a).
Proof.
  intros A; pose proof (line_measured nB nR (boundary_morphism a)) as L.
  rewrite boundary_morphism_keeps_distance, boundary_morphism_keeps_colour in L. pose proof (measured a) as D.
  destruct (distance a) as [j|].
  - rewrite (away_once _ k j a A D); exact L.
  - destruct A as ((b & Hb & W) & _); destruct (D b k Hb W).
Qed.

End Morphism.

Section Theorem3.
Variables (P : closeness) (x : R).
Hypothesis Hx : probability x.

(** The truth is a function of colour and distance, on every graph. *)
Lemma truth_by_distance (G : graph) (distance : G -> option nat) a : measures distance ->
  truth (homogeneous_optimum P G x Hx) a =
  match distance a with Some k => steps P k (start P x (blue a)) | None => 1%R end.
Proof. intros D; specialize (D a); destruct (distance a); [apply truth_away | apply truth_alone]; assumption. Qed.

Lemma same_truth (G : graph) (M N : mechanism G) a : truth M a = truth N a -> M a = N a.
Proof. unfold truth; destruct (blue a); lra. Qed.

Context {G : graph} (nB nR : nat) (distance : G -> option nat).
Hypothesis measured : measures distance.
Hypothesis long : long_enough nB nR distance.
Notation g := (boundary_morphism nB nR distance).
Notation line_optimum := (homogeneous_optimum P (line nB nR) x Hx).

(** Theorem 3: the homogeneous optimum is the line's, pulled back along the boundary morphism. *)
Theorem theorem_3 a : homogeneous_optimum P G x Hx a = pullback g line_optimum a.
Proof.
  apply same_truth. rewrite pullback_truth by (apply boundary_morphism_keeps_colour; assumption).
  rewrite (truth_by_distance G distance a measured), (truth_by_distance _ _ (g a) (line_measured nB nR)).
  rewrite boundary_morphism_keeps_distance, boundary_morphism_keeps_colour by assumption. reflexivity.
Qed.

(** So the pullback is private, has the value x at the boundary, and dominates every private mechanism that has it. *)
Corollary theorem_3_optimal :
  private P (pullback g line_optimum) /\
  (forall b, blue_boundary b -> pullback g line_optimum b = x) /\
  forall M, private P M -> (forall b, blue_boundary b -> M b = x) -> dominates (pullback g line_optimum) M.
Proof.
  split; [apply theorem_1; [apply boundary_morphism_morphism | apply homogeneous_private]; assumption | split].
  - intros b Hb; rewrite <- theorem_3; apply homogeneous_keeps, Hb.
  - intros M HM K a; pose proof (homogeneous_dominates P G x Hx M HM K a) as D.
    unfold truth in *; rewrite <- theorem_3; exact D.
Qed.

End Theorem3.
