(** Coloured dataset graphs, walks and distances, and private mechanisms on them (Definitions 1, 2 and 4 of the paper).

    Nothing here asks that a graph be finite or connected, or that anything about it can be decided. *)

From Coq Require Import Reals Lra Lia Arith.
From Duotone Require Import Step.
Open Scope R_scope.

(** Datasets, which of them are neighbours, and the true answer: blue is yes. *)
Record graph := {
  dataset :> Type;
  near : dataset -> dataset -> Prop;
  near_symmetric : forall a b, near a b -> near b a;
  blue : dataset -> bool
}.
Arguments near {g}. Arguments blue {g}. Arguments near_symmetric {g a b}.

(** A walk of n edges. *)
Inductive walk {G : graph} : nat -> G -> G -> Prop :=
| here a : walk 0 a a
| further n a b c : walk n a b -> near b c -> walk (S n) a c.

Section Walks.
Context {G : graph}.
Implicit Types a b c : G.

Lemma walk_edge a b : near a b -> walk 1 a b.
Proof. intros; eapply further; [constructor | assumption]. Qed.

Lemma walk_join m n a b c : walk m a b -> walk n b c -> walk (n + m) a c.
Proof. intros H; induction 1; simpl; [assumption | eapply further; eauto]. Qed.

Lemma walk_back n a b : walk n a b -> walk n b a.
Proof.
  induction 1; [constructor|]. replace (S n) with (n + 1)%nat by lia.
  eapply walk_join; [apply walk_edge, near_symmetric; eassumption | assumption].
Qed.

Lemma walk_none a b : walk 0 a b -> a = b.
Proof. inversion 1; reflexivity. Qed.

(** [away A n a]: the distance from the set [A] to [a] is [n]. *)
Definition away (A : G -> Prop) n a := (exists b, A b /\ walk n b a) /\ forall m b, A b -> walk m b a -> (n <= m)%nat.

Lemma away_once A m n a : away A m a -> away A n a -> m = n.
Proof.
  intros ((b & Hb & W) & M) ((c & Hc & V) & N). specialize (M _ _ Hc V). specialize (N _ _ Hb W). lia.
Qed.

(** Distances to a set differ by at most one between neighbours. *)
Lemma away_near A m n a b : near a b -> away A m a -> away A n b -> (n <= S m)%nat.
Proof. intros E ((c & Hc & W) & _) (_ & N). apply (N _ c Hc). eapply further; eassumption. Qed.

(** Definition 4: the boundary of the blue datasets, and of the red ones. *)
Definition blue_boundary a := blue a = true /\ exists b, near a b /\ blue b = false.
Definition red_boundary a := blue a = false /\ exists b, near a b /\ blue b = true.

End Walks.

(** A mechanism is the probability of yes at each dataset. *)
Definition mechanism (G : graph) := G -> R.

Definition probabilities {G} (M : mechanism G) := forall a, probability (M a).

(** Definition 1, for all events and all neighbours. *)
Definition private (P : closeness) {G} (M : mechanism G) :=
  probabilities M /\ forall a b, near a b -> hidden P (M a) (M b).

(** The probability of the truth, and Definition 2. *)
Definition truth {G} (M : mechanism G) (a : G) := if blue a then M a else 1 - M a.
Definition dominates {G} (M N : mechanism G) := forall a, truth N a <= truth M a.

Section Mechanisms.
Variable P : closeness.
Context {G : graph}.
Implicit Types M N : mechanism G.

(** Definition 1 is the step on every edge. *)
Theorem private_steps M : private P M <-> probabilities M /\ forall a b, near a b -> M b <= step P (M a).
Proof.
  unfold private; split; intros [Hp H]; split; auto; intros a b E.
  - apply (private_iff_step P (M a) (M b)); auto. split; auto using near_symmetric.
  - apply (private_iff_step P (M a) (M b)); auto. split; auto using near_symmetric.
Qed.

(** ... and so along every walk. *)
Lemma private_walks M n a b : private P M -> walk n a b -> M b <= steps P n (M a).
Proof.
  rewrite private_steps; intros [Hp H]; induction 1; simpl; [lra|].
  apply Rle_trans with (step P (M b)); auto using step_increases.
Qed.

(** Remark 2: no in the place of yes. *)
Lemma private_dual M : private P M -> private P (fun a => 1 - M a).
Proof.
  rewrite !private_steps. intros [Hp H]; split; [intros a; destruct (Hp a); split; lra|].
  intros a b E. destruct (Hp a), (Hp b). rewrite <- step_symmetric by lra. apply H, near_symmetric, E.
Qed.

(** Who dominate each other are the same. *)
Lemma dominate_each_other M N : dominates M N -> dominates N M -> forall a, M a = N a.
Proof. intros H K a; specialize (H a); specialize (K a); unfold truth in *; destruct blue; lra. Qed.

End Mechanisms.
