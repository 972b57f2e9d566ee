(** One value for the whole blue boundary: the optimum goes by the distance to the boundary alone (the core of Theorem 3).

    With one value [x] the nearest boundary dataset asks the most of a dataset, so the bound k edges away is [steps k x]. A walk
    from blue to red enters red at a dataset of the red boundary, so a red dataset is one edge further from the blue boundary
    than from its own: the red boundary says the truth with [step (1 - x)], which is an outcome and not a second input. *)

From Coq Require Import Reals Lra Lia.
From Duotone Require Import Step Graph Optimum.
Open Scope R_scope.

Section Boundaries.
Context {G : graph}.
Implicit Types a b c : G.

(** The boundary of one colour, and of a dataset's own. *)
Definition boundary (colour : bool) : G -> Prop := if colour then blue_boundary else red_boundary.

Lemma boundary_colour colour a : boundary colour a -> blue a = colour.
Proof. destruct colour; intros [C _]; exact C. Qed.

(** Neighbours of different colours are both in their boundaries. *)
Lemma both_boundary a b : near a b -> blue a <> blue b -> boundary (blue a) a /\ boundary (blue b) b.
Proof.
  intros E; pose proof (near_symmetric E).
  destruct (blue a) eqn:Ca, (blue b) eqn:Cb; simpl; intros N; try congruence; split; split; eauto.
Qed.

Lemma away_inside (A : G -> Prop) a : A a -> away A 0 a.
Proof. intros H; split; [exists a; split; [exact H | constructor] | lia]. Qed.

(** A walk into red from blue is longer than one from the red boundary. *)
Lemma walk_enters n b a : walk n b a -> blue b = true -> blue a = false ->
  exists j c, red_boundary c /\ walk j c a /\ (j < n)%nat.
Proof.
  intros W Cb; induction W as [a | n a b c W IH E]; intros Ca; [congruence|].
  destruct (blue b) eqn:C.
  - exists 0%nat, c; split; [split; [|exists b]; auto using near_symmetric | split; [constructor | lia]].
  - destruct IH as (j & r & Hr & V & L); auto. exists (S j), r; split; [|split; [eapply further; eassumption | lia]]; auto.
Qed.

(** A red dataset is one edge further from the blue boundary than from its own. *)
Lemma red_distance k a : blue a = false -> away red_boundary k a -> away blue_boundary (S k) a.
Proof.
  intros C ((c & (Cc & b & E & Cb) & W) & Least); split.
  - exists b; split; [split; eauto using near_symmetric|].
    replace (S k) with (k + 1)%nat by lia. eapply walk_join; [apply walk_edge, near_symmetric, E | exact W].
  - intros n d [Cd _] V; destruct (walk_enters n d a V Cd C) as (j & r & Hr & U & L). specialize (Least j r Hr U); lia.
Qed.

(** A dataset that its own boundary does not reach is reached by none. *)
Lemma unreached a : (forall b n, boundary (blue a) b -> ~ walk n b a) -> forall b n, blue_boundary b -> ~ walk n b a.
Proof.
  destruct (blue a) eqn:C; simpl; [auto|]. intros H b n [Cb _] W.
  destruct (walk_enters n b a W Cb C) as (j & c & Hc & V & _). exact (H c j Hc V).
Qed.

End Boundaries.

Section Homogeneous.
Variables (P : closeness) (G : graph) (x : R).
Hypothesis Hx : probability x.

(** Definition 7: the same value at every dataset of the blue boundary, and the best mechanism that has it. *)
Definition homogeneous (M : mechanism G) := forall b c, blue_boundary b -> blue_boundary c -> M b = M c.

Definition homogeneous_optimum : mechanism G := optimum P G blue_boundary (fun _ => x) (fun _ _ => Hx).

(** One value always fits. *)
Lemma constant_fits : fit P G blue_boundary (fun _ => x).
Proof. intros a b n _ _ _; apply (steps_extend P 0 n x Hx); lia. Qed.

Lemma homogeneous_private : private P homogeneous_optimum.
Proof. apply optimum_private; [auto | apply constant_fits]. Qed.

Lemma homogeneous_keeps b : blue_boundary b -> homogeneous_optimum b = x.
Proof. apply (optimum_keeps P G blue_boundary (fun _ => x)), constant_fits. Qed.

Lemma homogeneous_dominates M : private P M -> (forall b, blue_boundary b -> M b = x) -> dominates homogeneous_optimum M.
Proof. intros HM K; apply optimum_dominates; assumption. Qed.

Lemma steps_first n z : steps P n (step P z) = steps P (S n) z.
Proof. induction n; simpl; [reflexivity | rewrite IHn; reflexivity]. Qed.

(** k edges away from the nearest dataset with value z. *)
Lemma bound_away z given k a : probability z ->
  away blue_boundary k a -> bound P G blue_boundary (fun _ => z) given a = steps P k z.
Proof.
  intros Hz ((b & Hb & W) & Least); apply bound_is; [right; exists b, k; auto|].
  intros y [-> | (c & n & Hc & V & ->)]; [apply steps_probability, Hz | apply steps_extend; eauto].
Qed.

(** The optimum by distance: blue from the blue boundary ... *)
Theorem blue_truth k a : blue a = true -> away blue_boundary k a -> homogeneous_optimum a = steps P k x.
Proof. intros C D; unfold homogeneous_optimum, optimum; rewrite C; apply bound_away; assumption. Qed.

(** ... and red from the red one. *)
Theorem red_truth k a : blue a = false -> away red_boundary k a -> 1 - homogeneous_optimum a = steps P k (step P (1 - x)).
Proof.
  intros C D; unfold homogeneous_optimum, optimum; rewrite C, steps_first, (bound_away (1 - x) _ (S k)).
  - lra.
  - destruct Hx; split; lra.
  - apply red_distance; assumption.
Qed.

(** Both at once: the truth k edges away from one's own boundary. *)
Definition start (colour : bool) := if colour then x else step P (1 - x).

Theorem truth_away k a : away (boundary (blue a)) k a -> truth homogeneous_optimum a = steps P k (start (blue a)).
Proof.
  unfold truth; destruct (blue a) eqn:C; simpl; intros D; [apply blue_truth | apply red_truth]; assumption.
Qed.

(** Where no boundary is reached, the truth is certain. *)
Theorem truth_alone a : (forall b n, boundary (blue a) b -> ~ walk n b a) -> truth homogeneous_optimum a = 1.
Proof. intros H; apply alone, unreached, H. Qed.

(** The red boundary's value is an outcome: the most that any private mechanism with x at the blue boundary can have. *)
Theorem red_boundary_outcome c : red_boundary c ->
  truth homogeneous_optimum c = step P (1 - x) /\
  forall M, private P M -> (forall b, blue_boundary b -> M b = x) -> truth M c <= step P (1 - x).
Proof.
  intros Hc; assert (T : truth homogeneous_optimum c = step P (1 - x)).
  { pose proof (proj1 Hc) as C. unfold truth; rewrite C. apply (red_truth 0 c C), away_inside, Hc. }
  split; [exact T|]. intros M HM K; rewrite <- T; apply homogeneous_dominates; assumption.
Qed.

End Homogeneous.
