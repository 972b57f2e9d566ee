(** Three-way questions, asked one after the other until the last close call (close-calls.md, "The game").

    A strategy is a finite tree: a question, chosen by all answers so far, and what follows after each of yes, no and too close
    to call. Each question is *one clock*: the wrong answer has the same probability f under two neighbouring datasets;
    otherwise a clock runs, of rates that differ by a factor of at most r, and the answer is the right one if it does not
    strike, and too close to call if it does.

    [value] is the most that P(S) - y * Q(S) can be, over all sets S of transcripts: the sum of max (0, P - y * Q) over all
    transcripts. It is written for any masses A of P and B of Q with which a strategy is come to, so that nothing is
    ever divided. In these it is of degree one and subadditive: who is shown more, as which of two clocks struck, and in
    which of two spans of time, gains no less. That takes the place of any integral over the time of the strike. *)

From Coq Require Import Reals Lra Psatz List Lia Arith.
From Duotone Require Import Step Graph Clock.
Open Scope R_scope.

Inductive answer := Clear (yes : bool) | TooClose.

Definition each (F : answer -> R) := F (Clear true) + F (Clear false) + F TooClose.

Definition one_clock r (P Q : answer -> R) := exists (right : bool) f p q,
  probability f /\ (slower r p q \/ slower r q p) /\
  (P (Clear (negb right)) = f /\ P (Clear right) = (1 - f) * p /\ P TooClose = (1 - f) * (1 - p)) /\
  (Q (Clear (negb right)) = f /\ Q (Clear right) = (1 - f) * q /\ Q TooClose = (1 - f) * (1 - q)).

(** A coin of one's own is a question that is never too close to call and tells nothing: who throws coins is covered. *)
Lemma coin_one_clock r f (C : answer -> R) : 1 <= r -> probability f ->
  C (Clear true) = f -> C (Clear false) = 1 - f -> C TooClose = 0 -> one_clock r C C.
Proof.
  intros Hr Hf Ct Cf Cc. exists false, f, 1, 1; simpl; rewrite Ct, Cf, Cc. split; [exact Hf|].
  split; [|repeat split; ring]. left; exists 1, 0. rewrite Rmult_0_r, Ropp_0, exp_0. repeat split; lra.
Qed.

Section Game.
Context {G : graph}.

Inductive strategy :=
| Done
| Question (chance : G -> answer -> R) (next : answer -> strategy).

(** With h close calls left, at most; nothing is asked after the last one. *)
Fixpoint plays r h s := match s with
  | Done => True
  | Question chance next => match h with
    | O => False
    | S less => (forall a b, near a b -> one_clock r (chance a) (chance b)) /\
                (forall yes, plays r h (next (Clear yes))) /\ plays r less (next TooClose)
    end
  end.

(** A transcript is the list of answers; [mean a s f] is what f of it is on average at dataset a. *)
Fixpoint mean (a : G) s (f : list answer -> R) := match s with
  | Done => f nil
  | Question chance next => each (fun v => chance a v * mean a (next v) (fun t => f (v :: t)%list))
  end.

Definition transcripts a s (S : list answer -> bool) := mean a s (fun t => if S t then 1 else 0).

Section Value.
Variables (y : R) (a b : G).

Fixpoint value s A B := match s with
  | Done => Rmax 0 (A - y * B)
  | Question chance next => each (fun v => value (next v) (A * chance a v) (B * chance b v))
  end.

Lemma each_le F H : (forall v, F v <= H v) -> each F <= each H.
Proof. intros L; unfold each; pose proof (L (Clear true)); pose proof (L (Clear false)); pose proof (L TooClose); lra. Qed.

(** No function of the transcript, with values from 0 to 1, gains more. *)
Lemma mean_value s : forall f A B, (forall t, probability (f t)) -> A * mean a s f - y * (B * mean b s f) <= value s A B.
Proof.
  induction s as [|chance next IH]; simpl; intros f A B Hf.
  - destruct (Hf nil). replace (A * f nil - y * (B * f nil)) with (f nil * (A - y * B)) by ring.
    generalize (A - y * B); intros x. unfold Rmax; destruct Rle_dec; nra.
  - eapply Rle_trans; [|apply each_le; intros v; apply (IH v (fun t => f (v :: t)%list)); auto].
    unfold each; right; ring.
Qed.

Lemma value_least s A B : 0 <= value s A B.
Proof.
  revert A B; induction s as [|chance next IH]; simpl; intros A B; [apply Rmax_l|].
  unfold each; pose proof (fun v => IH v (A * chance a v) (B * chance b v)) as H.
  pose proof (H (Clear true)); pose proof (H (Clear false)); pose proof (H TooClose); lra.
Qed.

Lemma value_scales s c : 0 <= c -> forall A B, value s (c * A) (c * B) = c * value s A B.
Proof.
  intros Hc; induction s as [|chance next IH]; simpl; intros A B.
  - replace (c * A - y * (c * B)) with (c * (A - y * B)) by ring. generalize (A - y * B) as x; clear - Hc; intros x.
    rewrite <- (Rmult_0_r c) at 1. apply RmaxRmult, Hc.
  - unfold each; rewrite !Rmult_assoc, !IH; ring.
Qed.

Lemma value_adds s : forall A A' B B', value s (A + A') (B + B') <= value s A B + value s A' B'.
Proof.
  induction s as [|chance next IH]; simpl; intros A A' B B'.
  - replace (A + A' - y * (B + B')) with ((A - y * B) + (A' - y * B')) by ring.
    unfold Rmax; repeat destruct Rle_dec; lra.
  - unfold each; rewrite !Rmult_plus_distr_r.
    pose proof (fun v => IH v (A * chance a v) (A' * chance a v) (B * chance b v) (B' * chance b v)) as H.
    pose proof (H (Clear true)); pose proof (H (Clear false)); pose proof (H TooClose); lra.
Qed.

End Value.

(** A close call may also be wasted: with fewer left, less is asked. *)
Lemma plays_more r s : forall h h', (h <= h')%nat -> plays r h s -> plays r h' s.
Proof.
  induction s as [|chance next IH]; simpl; intros h h' L P; [exact I|].
  destruct h as [|h]; [contradiction|]. destruct h' as [|h']; [lia|]. destruct P as (C & Pn & Pc).
  repeat split; eauto with arith.
Qed.

End Game.
Arguments strategy : clear implicits.
