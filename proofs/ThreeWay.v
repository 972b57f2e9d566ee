(** The table of three-way answers, and all of it together (docs/theory.md, "The mechanism: one clock"; `ThreeWayTable`).

    Out of [parts] (2^b) the wrong answer has [wrong], the right one [clear d] at distance d from the boundary, and too close
    to call the rest. Three properties are all that is used: both sides agree at the boundary, [clear] never falls, and
    neighbours' clocks differ by a factor of at most r (s(d) >= s(d + 1)^r, here by the rates - ln s). Then each question about
    levels that differ by at most 1 between neighbours is one clock, and the theorem of CloseCalls.v bounds whatever is asked
    until the tau-th close call. *)

From Coq Require Import Reals Lra Lia List ZArith.
From Duotone Require Import Step Graph Exp Clock Game CloseCalls.
Open Scope R_scope.

(** The entries, as they are written out; beyond the last one a side stays as it is. *)
Record table := { parts : Z; wrong : Z; entries : list Z }.

Definition clear t d := nth (Nat.min d (length (entries t) - 1)) (entries t) 0%Z.

(** How likely the clock is not to strike. *)
Definition calm t d := IZR (clear t d) / IZR (parts t - wrong t).

Record sound (r : R) (t : table) := {
  wrong_least : (0 < wrong t)%Z;
  sides_agree : clear t 0 = wrong t;
  clear_most d : (clear t d <= parts t - wrong t)%Z;
  clear_rises d : (S d < length (entries t))%nat -> (clear t d <= clear t (S d))%Z;
  clocks d : (S d < length (entries t))%nat ->
    exists rate rate', calm t d = exp (- rate) /\ calm t (S d) = exp (- rate') /\ rate <= r * rate'
}.

Definition distance level := Z.to_nat (if (0 <=? level)%Z then level else -1 - level).

(** [ThreeWayTable.probabilities] *)
Definition table_chance t level v := match v with
  | Clear yes => IZR (if Bool.eqb yes (0 <=? level)%Z then clear t (distance level) else wrong t) / IZR (parts t)
  | TooClose => IZR (parts t - wrong t - clear t (distance level)) / IZR (parts t)
  end.

Lemma slower_itself r p : 1 <= r -> 0 < p <= 1 -> slower r p p.
Proof.
  intros Hr [Hp Lp]. destruct (logarithm p Hp) as [z Ez]. exists 1, (- z).
  replace (- (1 * - z)) with z by ring. rewrite Ropp_involutive, Ez. repeat split; try lra.
  enough (z <= 0) by lra. apply exp_le. rewrite exp_0, Ez. assumption.
Qed.

(** Rates a >= b >= 0, of which one is at most r times the other. *)
Lemma rates_slower r a b : 1 <= r -> exp (- b) <= 1 -> exp (- a) <= exp (- b) -> a <= r * b -> slower r (exp (- a)) (exp (- b)).
Proof.
  intros Hr Hb Hab L. rewrite <- exp_0 in Hb. apply exp_le in Hb, Hab. destruct (Rlt_dec 0 b) as [B | B].
  - exists (a / b), b. replace (a / b * b) with a by (field; lra). repeat split; try lra.
    + apply Rmult_le_reg_r with b; [assumption|]. replace (a / b * b) with a by (field; lra). lra.
    + apply Rmult_le_reg_r with b; [assumption|]. replace (a / b * b) with a by (field; lra). lra.
  - replace b with 0 in * by lra. replace a with 0 by lra. exists 1, 0. rewrite Rmult_0_r. repeat split; lra.
Qed.

Section Table.
Variables (r : R) (t : table).
Hypothesis r_least : 1 <= r.
Hypothesis H : sound r t.

Lemma clear_positive d : (0 < clear t d)%Z.
Proof.
  assert (L : forall n, (n < length (entries t))%nat -> (0 < clear t n)%Z).
  { induction n as [|n IH]; intros Hn; [rewrite (sides_agree _ _ H); apply (wrong_least _ _ H)|].
    pose proof (clear_rises _ _ H n Hn). specialize (IH ltac:(lia)). lia. }
  destruct (entries t) as [|e l] eqn:E; [pose proof (sides_agree _ _ H); pose proof (wrong_least _ _ H)|].
  - unfold clear in *; rewrite E in *; simpl in *. destruct (Nat.min d 0); lia.
  - specialize (L (Nat.min d (length l))). unfold clear in *; rewrite E in *; simpl length in *.
    replace (Nat.min (Nat.min d (length l)) (S (length l) - 1)) with (Nat.min d (S (length l) - 1)) in L by lia. apply L; lia.
Qed.

Lemma rest_positive : 0 < IZR (parts t - wrong t).
Proof. apply IZR_lt. pose proof (clear_positive 0). pose proof (clear_most _ _ H 0). lia. Qed.

Lemma calm_bounded d : 0 < calm t d <= 1.
Proof.
  pose proof rest_positive as W. pose proof (IZR_lt _ _ (clear_positive d)). pose proof (IZR_le _ _ (clear_most _ _ H d)).
  unfold calm; split; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_le_reg_r with (IZR (parts t - wrong t)); [assumption|].
  replace (IZR (clear t d) / IZR (parts t - wrong t) * IZR (parts t - wrong t)) with (IZR (clear t d)) by (field; lra). lra.
Qed.

(** Properties 2 and 3, also beyond the last entry. *)
Lemma calm_slower d : slower r (calm t d) (calm t (S d)).
Proof.
  destruct (Nat.lt_ge_cases (S d) (length (entries t))) as [L | L].
  - pose proof rest_positive as W. assert (M : calm t d <= calm t (S d)).
    { unfold calm, Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, W | apply IZR_le, (clear_rises _ _ H), L]. }
    pose proof (calm_bounded (S d)). destruct (clocks _ _ H d L) as (a & b & Ea & Eb & R). rewrite Ea, Eb in *.
    apply rates_slower; auto; lra.
  - replace (calm t (S d)) with (calm t d) by (unfold calm, clear; do 3 f_equal; lia).
    apply slower_itself, calm_bounded; assumption.
Qed.

Lemma calm_near d d' : (d <= S d' -> d' <= S d -> slower r (calm t d) (calm t d') \/ slower r (calm t d') (calm t d))%nat.
Proof.
  intros L L'. assert (d = d' \/ d' = S d \/ d = S d') as [-> | [-> | ->]] by lia; auto using calm_slower.
  left; apply slower_itself, calm_bounded; assumption.
Qed.

(** One question is one clock. *)
Theorem table_one_clock l l' : (Z.abs (l - l') <= 1)%Z -> one_clock r (table_chance t l) (table_chance t l').
Proof.
  intros L. pose proof rest_positive as W. pose proof (IZR_lt _ _ (wrong_least _ _ H)) as F.
  assert (N : IZR (parts t - wrong t) = IZR (parts t) - IZR (wrong t)) by apply minus_IZR.
  (* the side of l, also for the other level: at the boundary both sides agree *)
  assert (S : forall k right, right = (0 <=? k)%Z \/ distance k = 0%nat -> forall v, table_chance t k v = match v with
    | Clear yes => if Bool.eqb yes right then (1 - IZR (wrong t) / IZR (parts t)) * calm t (distance k)
                   else IZR (wrong t) / IZR (parts t)
    | TooClose => (1 - IZR (wrong t) / IZR (parts t)) * (1 - calm t (distance k)) end).
  { intros k right R v; unfold calm; rewrite N in *; destruct v as [yes|]; simpl.
    - destruct R as [-> | ->]; [destruct (Bool.eqb yes (0 <=? k)%Z); [field; lra | reflexivity]|].
      rewrite (sides_agree _ _ H); destruct (Bool.eqb yes (0 <=? k)%Z), (Bool.eqb yes right); try reflexivity; field; lra.
    - rewrite !minus_IZR; field; lra. }
  exists (0 <=? l)%Z, (IZR (wrong t) / IZR (parts t)), (calm t (distance l)), (calm t (distance l')).
  split; [|split].
  - split; [left; apply Rdiv_lt_0_compat; lra|]. apply Rmult_le_reg_r with (IZR (parts t)); [lra|].
    replace (IZR (wrong t) / IZR (parts t) * IZR (parts t)) with (IZR (wrong t)) by (field; lra). lra.
  - apply calm_near; unfold distance; destruct (Z.leb_spec 0 l), (Z.leb_spec 0 l'); lia.
  - rewrite !(S l (0 <=? l)%Z (or_introl eq_refl)).
    assert (R : (0 <=? l)%Z = (0 <=? l')%Z \/ distance l' = 0%nat)
      by (unfold distance; destruct (Z.leb_spec 0 l), (Z.leb_spec 0 l'); auto; right; lia).
    rewrite !(S l' (0 <=? l)%Z R). destruct (0 <=? l)%Z; simpl; auto.
Qed.

Context {G : graph}.

(** Who asks: about a level, then whatever they like by what came out, as often as they like. *)
Inductive asker :=
| Enough
| About (level : G -> Z) (next : answer -> asker).

Fixpoint levels_near who := match who with
  | Enough => True
  | About level next => (forall a b, near a b -> (Z.abs (level a - level b) <= 1)%Z) /\ forall v, levels_near (next v)
  end.

(** Where neighbours' levels differ by up to c, take level / c, rounded down: it has the same sign, and they differ by 1. *)
Lemma levels_divided c l l' : (0 < c -> Z.abs (l - l') <= c -> Z.abs (l / c - l' / c) <= 1 /\ (0 <= l / c <-> 0 <= l))%Z.
Proof.
  intros Hc L. pose proof (Z.mul_div_le l c Hc). pose proof (Z.mul_succ_div_gt l c Hc).
  pose proof (Z.mul_div_le l' c Hc). pose proof (Z.mul_succ_div_gt l' c Hc). split; nia.
Qed.

(** They are answered until the last of h close calls, and nothing after it. *)
Fixpoint answered who h : strategy G := match who with
  | Enough => Done
  | About level next => match h with
    | O => Done
    | S less => Question (fun a => table_chance t (level a))
                         (fun v => answered (next v) (match v with Clear _ => h | TooClose => less end))
    end
  end.

Lemma answered_plays who : levels_near who -> forall h, plays r h (answered who h).
Proof.
  induction who as [|level next IH]; simpl; intros L h; [exact I|]. destruct L as [L Ln], h as [|less]; simpl; [exact I|].
  repeat split; auto using table_one_clock.
Qed.

(** The promise of docs/theory.md: whoever asks, whatever and however often. *)
Theorem three_way_private y tau U who S a b :
  bounds y r tau U -> levels_near who -> near a b ->
  transcripts a (answered who tau) S <= y * transcripts b (answered who tau) S + U tau 1.
Proof. intros; apply close_calls with (r := r); auto using answered_plays. Qed.

End Table.
