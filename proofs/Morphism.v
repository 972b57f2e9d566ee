(** Theorem 1: a private mechanism is pulled back along a map that takes neighbours to neighbours, or to one dataset. *)

From Coq Require Import Reals.
From Duotone Require Import Step Graph.

Section Morphism.
Context {G H : graph} (g : G -> H).

(** Definition 3: and the colour is kept. *)
Definition morphism := forall a b : G, near a b -> g a = g b \/ near (g a) (g b).
Definition keeps_colour := forall a, blue (g a) = blue a.

Definition pullback (M : mechanism H) : mechanism G := fun a => M (g a).

(** An answer is as likely at a dataset as at the same dataset. *)
Lemma hidden_itself P x : probability x -> hidden P x x.
Proof.
  intros Hx; apply (private_iff_step P x x); auto.
  destruct Hx; split; apply step_extends; assumption.
Qed.

Theorem theorem_1 P M : morphism -> private P M -> private P (pullback M).
Proof.
  intros F [Hp HM]; split; [intros a; apply Hp|].
  intros a b E; unfold pullback; destruct (F a b E) as [-> | ?]; [apply hidden_itself, Hp | apply HM; assumption].
Qed.

(** A colour-preserving one also keeps how often the truth is said. *)
Lemma pullback_truth M a : keeps_colour -> truth (pullback M) a = truth M (g a).
Proof. intros K; unfold truth, pullback; rewrite K; reflexivity. Qed.

End Morphism.

Lemma morphism_compose {G H K : graph} (g : G -> H) (h : H -> K) :
  morphism g -> morphism h -> morphism (fun a => h (g a)).
Proof.
  intros Fg Fh a b E; destruct (Fg a b E) as [-> | F]; [left; reflexivity | apply Fh, F].
Qed.
