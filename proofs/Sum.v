(** The rule `sum` (docs/theory.md, "The sum is a filter"; `SumAccount.fits` and `Spent.plus` in the code).

    Whoever asks chooses the next question, and its epsilon and delta, by all answers so far. The ledger admits it if the sums
    of what was charged, with it, stay within the budget (E, D). Then all answers together are (E, D)-private.

    Why: say that what follows, with (E', D') left, is (E', D')-private for every function of the answers with values from 0
    to 1. Before it comes an answer at (eps, d). Under one dataset the whole is a mean of what follows, which is at most
    min (1, e^E' * h) + D' where h is its mean under the other dataset; and a mean of numbers from 0 to 1 is at most
    e^eps times that under the other dataset, plus d, since it is so for the event on which the first is the larger one.

    A strategy is a finite tree of any depth and any width. An unlimited sequence of questions is one such tree for each
    number N, its first N questions, and the bound does not depend on N. *)

From Coq Require Import Reals Lra Psatz Lia List.
From Duotone Require Import Step Graph Exp.
Open Scope R_scope.

(** The sum of f 0, ..., f (n - 1). *)
Fixpoint total n (f : nat -> R) := match n with O => 0 | S n => total n f + f n end.

Lemma total_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> total n f <= total n g.
Proof.
  induction n as [|n IH]; simpl; intros H; [lra|]. apply Rplus_le_compat; [apply IH; intros; apply H; lia | apply H; lia].
Qed.

Lemma total_plus n f g a b : total n (fun i => a * f i + b * g i) = a * total n f + b * total n g.
Proof. induction n as [|n IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma total_least n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= total n f.
Proof.
  intros H; replace 0 with (total n (fun _ => 0)) by (clear; induction n; simpl; lra). apply total_le, H.
Qed.

(** Answers 0, ..., n - 1 with their probabilities, and how likely a set of them is. *)
Definition distribution n (p : nat -> R) := (forall i, (i < n)%nat -> 0 <= p i) /\ total n p = 1.
Definition likely n p (S : nat -> bool) := total n (fun i => (if S i then 1 else 0) * p i).

(** Definition 1 for one ordered pair of neighbours: every event. *)
Definition within eps d n p q := forall S, likely n p S <= exp eps * likely n q S + d.

(** What holds for events holds for numbers from 0 to 1. *)
Lemma within_functions eps d n p q (m : nat -> R) :
  within eps d n p q -> (forall i, (i < n)%nat -> 0 <= p i) -> (forall i, (i < n)%nat -> probability (m i)) ->
  total n (fun i => m i * p i) <= exp eps * total n (fun i => m i * q i) + d.
Proof.
  intros H Hp Hm. set (worse i := if Rle_dec (exp eps * q i) (p i) then true else false).
  specialize (H worse); unfold likely in H.
  enough (total n (fun i => 1 * (m i * p i) + - exp eps * (m i * q i))
          <= total n (fun i => 1 * ((if worse i then 1 else 0) * p i) + - exp eps * ((if worse i then 1 else 0) * q i)))
    by (rewrite !total_plus in *; lra).
  apply total_le; intros i Hi; destruct (Hm i Hi); unfold worse; destruct Rle_dec; nra.
Qed.

Lemma mean_probability n p m : distribution n p -> (forall i, (i < n)%nat -> probability (m i)) ->
  probability (total n (fun i => m i * p i)).
Proof.
  intros [Hp H1] Hm; split.
  - apply total_least; intros i Hi; destruct (Hm i Hi); specialize (Hp i Hi); nra.
  - rewrite <- H1; apply total_le; intros i Hi; destruct (Hm i Hi); specialize (Hp i Hi); nra.
Qed.

(** An answer at (eps, d), and then what is private at (E, D) whatever came out: together (eps + E, d + D). *)
Lemma compose eps d E D n p q (x y : nat -> R) :
  distribution n p -> distribution n q -> within eps d n p q -> 0 <= D ->
  (forall i, (i < n)%nat -> probability (x i) /\ probability (y i) /\ x i <= exp E * y i + D) ->
  total n (fun i => x i * p i) <= exp (eps + E) * total n (fun i => y i * q i) + (d + D).
Proof.
  intros [Hp Sp] [Hq _] W HD H. set (m i := Rmin 1 (exp E * y i)). pose proof (exp_pos E). pose proof (exp_pos eps).
  assert (M : forall i, (i < n)%nat -> probability (m i)).
  { intros i Hi; destruct (H i Hi) as (? & [? ?] & ?); unfold m, Rmin; destruct Rle_dec; split; nra. }
  assert (A : total n (fun i => x i * p i) <= total n (fun i => 1 * (m i * p i) + D * p i)).
  { apply total_le; intros i Hi. specialize (Hp i Hi). destruct (H i Hi) as ([? ?] & _ & ?).
    assert (x i <= m i + D) by (unfold m, Rmin; destruct Rle_dec; lra). nra. }
  assert (B : total n (fun i => m i * q i) <= total n (fun i => exp E * (y i * q i) + 0 * 0)).
  { apply total_le; intros i Hi. specialize (Hq i Hi). assert (m i <= exp E * y i) by apply Rmin_r. nra. }
  rewrite total_plus, Sp in A. rewrite (total_plus n _ (fun _ => 0)) in B.
  pose proof (within_functions _ _ _ _ _ m W Hp M). rewrite exp_plus. nra.
Qed.

Section Sum.
Context {G : graph}.

(** Stop, or charge (eps, d) for an answer, one of n, with probabilities by the dataset, and go on by what came out. *)
Inductive strategy :=
| Stop
| Ask (eps d : R) (n : nat) (chance : G -> nat -> R) (next : nat -> strategy).

(** Every answer is private at what was charged for it. *)
Fixpoint honest s := match s with
  | Stop => True
  | Ask eps d n chance next =>
      0 <= eps /\ 0 <= d /\ (forall a, distribution n (chance a)) /\
      (forall a b, near a b -> within eps d n (chance a) (chance b)) /\ forall i, (i < n)%nat -> honest (next i)
  end.

(** The filter: after sums e and d, a charge is admitted if the sums with it are at most E and D. *)
Fixpoint admitted E D e d s := match s with
  | Stop => True
  | Ask eps d' n _ next =>
      e + eps <= E /\ d + d' <= D /\ forall i, (i < n)%nat -> admitted E D (e + eps) (d + d') (next i)
  end.

(** A transcript is the list of answers; [mean a s f] is what f of it is on average at dataset a. *)
Fixpoint mean (a : G) s (f : list nat -> R) := match s with
  | Stop => f nil
  | Ask _ _ n chance next => total n (fun i => mean a (next i) (fun t => f (i :: t)%list) * chance a i)
  end.

Definition transcripts a s (S : list nat -> bool) := mean a s (fun t => if S t then 1 else 0).

Lemma mean_bounded a s f : honest s -> (forall t, probability (f t)) -> probability (mean a s f).
Proof.
  revert f; induction s as [|eps d n chance next IH]; simpl; intros f H Hf; [apply Hf|].
  destruct H as (_ & _ & Hd & _ & Hn). apply mean_probability; [apply Hd|]. intros i Hi; apply IH; auto.
Qed.

Lemma filter_functions E D s : forall e d f a b,
  honest s -> admitted E D e d s -> e <= E -> d <= D -> near a b -> (forall t, probability (f t)) ->
  mean a s f <= exp (E - e) * mean b s f + (D - d).
Proof.
  induction s as [|eps d' n chance next IH]; simpl; intros e d f a b H A He Hd N Hf.
  - destruct (Hf nil). pose proof (exp_at_least_one (E - e)). nra.
  - destruct H as (H1 & H2 & Hp & Hc & Hn), A as (A1 & A2 & An).
    replace (E - e) with (eps + (E - (e + eps))) by ring. replace (D - d) with (d' + (D - (d + d'))) by ring.
    apply compose; auto; [lra|]. intros i Hi. repeat split; try (apply mean_bounded; auto). apply IH; auto.
Qed.

(** The theorem: every function of the transcript with values from 0 to 1, and every set of transcripts. *)
Theorem sum_functions E D s f a b :
  0 <= E -> 0 <= D -> honest s -> admitted E D 0 0 s -> near a b -> (forall t, probability (f t)) ->
  mean a s f <= exp E * mean b s f + D.
Proof.
  intros HE HD H A N Hf. pose proof (filter_functions E D s 0 0 f a b H A HE HD N Hf). rewrite !Rminus_0_r in *. assumption.
Qed.

Theorem sum_is_a_filter E D s S a b :
  0 <= E -> 0 <= D -> honest s -> admitted E D 0 0 s -> near a b ->
  transcripts a s S <= exp E * transcripts b s S + D.
Proof. intros; apply sum_functions; auto. intros t; destruct (S t); split; lra. Qed.

(** The filter as the ledger runs it: whoever asks is a function of what was seen, for N questions at most, and what does not
    fit is refused. Nothing has to be assumed of the sums then. The asker knows the sums, so that a refusal tells them nothing,
    and one who goes on after it is one who asks what comes next at once. *)
Record question := { charged : R * R; answers : nat; law : G -> nat -> R }.

Definition honest_question q :=
  0 <= fst (charged q) /\ 0 <= snd (charged q) /\ (forall a, distribution (answers q) (law q a)) /\
  forall a b, near a b -> within (fst (charged q)) (snd (charged q)) (answers q) (law q a) (law q b).

Fixpoint played E D (asker : list nat -> question) N e d (seen : list nat) := match N with
  | O => Stop
  | S N =>
      let q := asker seen in
      if Rle_dec (e + fst (charged q)) E then if Rle_dec (d + snd (charged q)) D then
        Ask (fst (charged q)) (snd (charged q)) (answers q) (law q) (fun i =>
          played E D asker N (e + fst (charged q)) (d + snd (charged q)) (seen ++ i :: nil))
      else Stop else Stop
  end.

Lemma played_admitted E D asker N : forall e d seen, admitted E D e d (played E D asker N e d seen).
Proof.
  induction N as [|N IH]; simpl; intros e d seen; [exact I|].
  destruct Rle_dec; [|exact I]. destruct Rle_dec; [|exact I]. simpl; repeat split; auto.
Qed.

Lemma played_honest E D asker N :
  (forall t, honest_question (asker t)) -> forall e d seen, honest (played E D asker N e d seen).
Proof.
  intros H; induction N as [|N IH]; simpl; intros e d seen; [exact I|].
  destruct Rle_dec; [|exact I]. destruct Rle_dec; [|exact I].
  destruct (H seen) as (? & ? & ? & ?). simpl; refine (conj _ (conj _ (conj _ (conj _ _)))); auto.
Qed.

(** However many questions, chosen however: the bound is the same for all N. *)
Theorem sum_whatever_is_asked E D asker N S a b :
  0 <= E -> 0 <= D -> (forall t, honest_question (asker t)) -> near a b ->
  let s := played E D asker N 0 0 nil in transcripts a s S <= exp E * transcripts b s S + D.
Proof. intros HE HD H near s; apply sum_is_a_filter; auto; [apply played_honest, H | apply played_admitted]. Qed.

(** Who charges more than an answer needs does no harm: so sums may be rounded up ([Spent.bounded]). *)
Lemma within_more eps d eps' d' n p q :
  (forall i, (i < n)%nat -> 0 <= q i) -> eps <= eps' -> d <= d' -> within eps d n p q -> within eps' d' n p q.
Proof.
  intros Hq He Hd H S; specialize (H S).
  pose proof (exp_rises eps eps' He).
  assert (0 <= likely n q S).
  { apply total_least; intros i Hi; specialize (Hq i Hi); destruct (S i); lra. }
  nra.
Qed.

Lemma within_itself n p : within 0 0 n p p.
Proof. intros S; rewrite exp_0; lra. Qed.

(** A coin of one's own costs nothing: so a strategy may be drawn at random, at the start and at every step. *)
Theorem coin w n next E D : distribution n w -> (forall i, (i < n)%nat -> honest (next i) /\ admitted E D 0 0 (next i)) ->
  0 <= E -> 0 <= D -> honest (Ask 0 0 n (fun _ => w) next) /\ admitted E D 0 0 (Ask 0 0 n (fun _ => w) next).
Proof.
  intros Hw H HE HD; simpl; rewrite Rplus_0_r. repeat split; try lra; try apply Hw; try apply H; auto using within_itself.
Qed.

(** A charge whose answer is never drawn, after a crash say, is a question with one answer: it shows nothing. *)
Definition wasted eps d s := Ask eps d 1 (fun _ _ => 1) (fun _ => s).

Theorem wasted_honest eps d s : 0 <= eps -> 0 <= d -> honest s -> honest (wasted eps d s).
Proof.
  intros He Hd H; simpl; repeat split; auto; simpl; try lra; intros; try lra.
  apply within_more with 0 0; auto using within_itself; intros; lra.
Qed.

Lemma wasted_shows_nothing a eps d s f : mean a (wasted eps d s) f = mean a s (fun t => f (0%nat :: t)%list).
Proof. simpl; ring. Qed.

(** A private yes/no mechanism, by Definition 1, is a question with two answers. *)
Definition yes_no (M : mechanism G) : G -> nat -> R := fun a i => match i with O => M a | _ => 1 - M a end.

Theorem yes_no_honest P eps M : 0 <= eps -> ratio P = exp eps -> private P M ->
  honest_question {| charged := (eps, delta P); answers := 2; law := yes_no M |}.
Proof.
  intros He Er [Hp H]; unfold honest_question; simpl; refine (conj He (conj (delta_least P) (conj _ _))).
  - intros a; split; [intros i _; destruct (Hp a), i; simpl; lra | simpl; ring].
  - intros a b N S. generalize (H a b N (fun v => if v then S 0%nat else S 1%nat)).
    rewrite Er; unfold chance, likely; simpl; destruct (S 0%nat), (S 1%nat); lra.
Qed.

End Sum.
Arguments strategy : clear implicits. Arguments question : clear implicits.

(** Not in vain: two answers at (eps, 0), e^eps = 2, on a budget of (2 eps, 0), about two neighbours, use it up. *)
Section Example.
Variable eps : R.
Hypothesis doubles : exp eps = 2.

Definition two : graph := {| dataset := bool; near := fun a b => a <> b; near_symmetric := fun a b => @not_eq_sym _ a b;
  blue := fun a => a |}.
Definition answer (next : nat -> strategy two) :=
  Ask eps 0 2 (fun (a : two) i => if Bool.eqb a (Nat.eqb i 0) then 2 / 3 else 1 / 3) next.
Definition twice := answer (fun _ => answer (fun _ => Stop)).

Lemma eps_least : 0 <= eps.
Proof. apply exp_le. rewrite doubles, exp_0. lra. Qed.

Lemma answer_honest next : (forall i, honest (next i)) -> honest (answer next).
Proof.
  intros H; simpl; refine (conj eps_least (conj _ (conj _ (conj _ (fun i _ => H i))))); [lra | |].
  - intros a; split; [intros i _; destruct Bool.eqb; lra | destruct a; simpl; lra].
  - intros a b N S; rewrite doubles; unfold likely.
    destruct a, b; try congruence; simpl; destruct (S 0%nat), (S 1%nat); lra.
Qed.

Theorem twice_private S : transcripts (G := two) true twice S <= 4 * transcripts (G := two) false twice S.
Proof.
  pose proof eps_least. pose proof (sum_is_a_filter (G := two) (eps + eps) 0 twice S true false) as H'.
  rewrite exp_plus, doubles in H'.
  enough (transcripts (G := two) true twice S <= 2 * 2 * transcripts (G := two) false twice S + 0) by lra.
  apply H'; [lra | lra | | simpl; repeat split; intros; lra | discriminate].
  unfold twice; repeat (apply answer_honest; intros); exact I.
Qed.

Lemma twice_tight : let both := fun t => match t with (0 :: 0 :: nil)%nat => true | _ => false end in
  transcripts (G := two) true twice both = 4 * transcripts (G := two) false twice both.
Proof. unfold transcripts; simpl; field. Qed.

End Example.
