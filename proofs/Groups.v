(** Groups that are selected privately, each with an answer, for the price of one answer (docs/theory.md, `PrivateGroups`).

    A group of n people is shown with probability [shown n], which is a private mechanism on how many they are; from [always]
    people on it is shown for certain. Up to that many its answer is drawn at one of the two levels beside the boundary, by a
    fair coin; beyond it at the group's level, clipped to -j ... j - 1 with j = n - always. Neighbours' numbers of people differ
    by at most one, and so do their levels. Whether a group is hidden, and what is answered, is then private together, over all
    events: up to [always] people what is released follows from the selection, and from there on the answer alone moves. *)

From Coq Require Import ZArith Reals Lra Lia Psatz Bool.
From Duotone Require Import Margin Step Graph LineMechanism.
Open Scope R_scope.

Section Groups.
Variables (P : privacy) (shown : mechanism integers) (always : Z).
Hypothesis shown_private : private P shown.
Hypothesis shown_for_certain : forall n, (always <= n)%Z -> shown n = 1.

(** How likely a set of answers is at a level: yes and no, or margins. *)
Variables (A : Type) (law : Z -> (A -> bool) -> R).
Hypothesis law_range : forall l S, 0 <= law l S <= 1.
Hypothesis law_private : forall l l' S, (Z.abs (l - l') <= 1)%Z -> law l S <= ratio P * law l' S + delta P.

(** How far the level of a group of n people may be from the boundary. *)
Definition within (n : Z) : Z := Z.max 0 (n - always).

Definition answered (n l : Z) (S : A -> bool) : R :=
  if (within n =? 0)%Z then (law 0 S + law (-1) S) / 2 else law (clip (within n) l) S.

(** Hidden is [None]. *)
Definition released (n l : Z) (S : option A -> bool) : R :=
  (if S None then 1 - shown n else 0) + shown n * answered n l (fun a => S (Some a)).

(** Beyond the coin, the level that decides moves by one at most; and the coin is near both levels beside the boundary. *)
Lemma answered_private n n' l l' S : (Z.abs (n - n') <= 1)%Z -> (Z.abs (l - l') <= 1)%Z ->
  answered n l S <= ratio P * answered n' l' S + delta P.
Proof.
  intros N L. of_privacy P.
  pose proof (law_private 0%Z 0%Z S ltac:(lia)). pose proof (law_private (-1)%Z (-1)%Z S ltac:(lia)).
  pose proof (law_private 0%Z (-1)%Z S ltac:(lia)). pose proof (law_private (-1)%Z 0%Z S ltac:(lia)).
  assert (Ends : forall k, clip 1 k = 0%Z \/ clip 1 k = (-1)%Z) by (intros; unfold clip; lia).
  unfold answered. destruct (Z.eqb_spec (within n) 0) as [E | E], (Z.eqb_spec (within n') 0) as [E' | E'].
  - lra.
  - replace (within n') with 1%Z by (unfold within in *; lia). destruct (Ends l') as [-> | ->]; lra.
  - replace (within n) with 1%Z by (unfold within in *; lia). destruct (Ends l) as [-> | ->]; lra.
  - apply law_private. unfold within, clip in *. lia.
Qed.

Lemma shown_near n n' : (Z.abs (n - n') <= 1)%Z ->
  shown n <= ratio P * shown n' + delta P /\ 1 - shown n <= ratio P * (1 - shown n') + delta P.
Proof.
  intros N. of_privacy P. destruct shown_private as [Hp H]. destruct (Hp n') as [? ?].
  destruct (Z.eq_dec n n') as [-> | D]; [split; nra|]. assert (E : @near integers n n') by (simpl; lia).
  specialize (H n n' E). pose proof (H (fun yes => yes)) as Yes. pose proof (H negb) as No.
  unfold chance in Yes, No; cbn in Yes, No. lra.
Qed.

(** All events, of any two neighbours. *)
Theorem groups_private n n' l l' S : (Z.abs (n - n') <= 1)%Z -> (Z.abs (l - l') <= 1)%Z ->
  released n l S <= ratio P * released n' l' S + delta P.
Proof.
  intros N L. of_privacy P. destruct (Z.le_gt_cases n always) as [B | B], (Z.le_gt_cases n' always) as [B' | B'].
  1: { (* the same coin: what is released follows from the selection *)
    assert (E : within n = 0%Z /\ within n' = 0%Z) by (unfold within; lia). destruct E as [E E'].
    unfold released, answered. rewrite E, E'. cbn [Z.eqb]. set (w := (law 0 _ + law (-1) _) / 2).
    assert (W : 0 <= w <= 1).
    { unfold w. pose proof (law_range 0 (fun a => S (Some a))). pose proof (law_range (-1) (fun a => S (Some a))). lra. }
    destruct (shown_near n n' N). destruct shown_private as [Hp _]. destruct (Hp n), (Hp n'). destruct (S None); nra. }
  all: assert (C : shown n = 1 /\ shown n' = 1) by (split; apply shown_for_certain; lia); destruct C as [C C'];
    pose proof (answered_private n n' l l' (fun a => S (Some a)) N L) as Q;
    unfold released; rewrite C, C'; destruct (S None); lra.
Qed.

End Groups.

(** With the line's answers. *)
Corollary groups_yes_no (P : privacy) (shown M : mechanism integers) always :
  private P shown -> (forall n, (always <= n)%Z -> shown n = 1) -> private P M ->
  forall n n' l l' S, (Z.abs (n - n') <= 1)%Z -> (Z.abs (l - l') <= 1)%Z ->
  let released := released shown always bool (fun l => chance (M l)) in
  released n l S <= ratio P * released n' l' S + delta P.
Proof.
  intros Hs C [Hp H] n n' l l' S N L. of_privacy P. apply groups_private; auto.
  - intros i T. destruct (Hp i). unfold chance. destruct (T true), (T false); lra.
  - intros i j T D. destruct (Z.eq_dec i j) as [-> | E]; [|apply (H i j); simpl; lia].
    destruct (Hp j). assert (0 <= chance (M j) T) by (unfold chance; destruct (T true), (T false); lra). nra.
Qed.
