(** Definite answers beside three-way ones (docs/theory.md, "Beside ordinary answers").

    Definite answers are charged by the rule `sum` to a part (E2, D2) of the budget, three-way ones count close calls under
    (E1, D1), and both kinds interleave: each question may depend on all answers so far. Together they are
    (E1 + E2, D1 + D2)-private. The page cites theorems on concurrent composition for this; here it is proved directly.

    Why: let s be what was spent of E2 so far and d what is left of D2. What can still be gained from masses A of P and B of Q
    is at most the bound U_h of close calls at masses A and e^s * B, plus d * A. A definite answer at (eps, d') has
    p <= e^eps * q but for a mass d' of p, which gains no more than itself; elsewhere e^-eps * p may stand for q, since more of
    Q gains less, and then the answer tells nothing: what remains is the bound at e^(s + eps) * e^-eps * B. *)

From Coq Require Import Reals Lra Psatz List Lia Arith.
From Duotone Require Import Step Graph Exp Sum Clock Game CloseCalls.
Open Scope R_scope.

Section Concurrent.
Context {G : graph}.

Inductive mixed :=
| Over
| Definite (eps d : R) (n : nat) (chance : G -> nat -> R) (next : nat -> mixed)
| Three (chance : G -> Game.answer -> R) (next : Game.answer -> mixed).

(** With h close calls, and e and d of what was set aside for definite answers, left. *)
Fixpoint allowed r h e d t := match t with
  | Over => True
  | Definite eps d' n chance next =>
      0 <= eps <= e /\ 0 <= d' <= d /\ (forall a, distribution n (chance a)) /\
      (forall a b, near a b -> within eps d' n (chance a) (chance b)) /\
      forall i, (i < n)%nat -> allowed r h (e - eps) (d - d') (next i)
  | Three chance next => match h with
    | O => False
    | S less => (forall a b, near a b -> one_clock r (chance a) (chance b)) /\
                (forall yes, allowed r h e d (next (Clear yes))) /\ allowed r less e d (next TooClose)
    end
  end.

Fixpoint mean_of (a : G) t (f : list (nat + Game.answer) -> R) := match t with
  | Over => f nil
  | Definite _ _ n chance next => total n (fun i => chance a i * mean_of a (next i) (fun s => f (inl i :: s)%list))
  | Three chance next => each (fun v => chance a v * mean_of a (next v) (fun s => f (inr v :: s)%list))
  end.

Section Gain.
Variables (y : R) (a b : G).
Hypothesis y_least : 0 <= y.
Hypothesis N : near a b.

Fixpoint gain t A B := match t with
  | Over => Rmax 0 (A - y * B)
  | Definite _ _ n chance next => total n (fun i => gain (next i) (A * chance a i) (B * chance b i))
  | Three chance next => each (fun v => gain (next v) (A * chance a v) (B * chance b v))
  end.

Lemma total_scaled n f c : total n (fun i => c * f i) = c * total n f.
Proof. induction n as [|n IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma mean_gain t : forall f A B, (forall s, probability (f s)) -> A * mean_of a t f - y * (B * mean_of b t f) <= gain t A B.
Proof.
  induction t as [|eps d n chance next IH | chance next IH]; simpl; intros f A B Hf.
  - destruct (Hf nil). replace (A * f nil - y * (B * f nil)) with (f nil * (A - y * B)) by ring.
    generalize (A - y * B); intros x. unfold Rmax; destruct Rle_dec; nra.
  - eapply Rle_trans; [|apply total_le; intros i Hi; apply (IH i (fun s => f (inl i :: s)%list)); auto]. right.
    induction n as [|n In]; simpl; [ring|]. rewrite <- In. ring.
  - eapply Rle_trans; [|apply each_le; intros v; apply (IH v (fun s => f (inr v :: s)%list)); auto]. unfold each; right; ring.
Qed.

Lemma gain_scales t c : 0 <= c -> forall A B, gain t (c * A) (c * B) = c * gain t A B.
Proof.
  intros Hc; induction t as [|eps d n chance next IH | chance next IH]; simpl; intros A B.
  - replace (c * A - y * (c * B)) with (c * (A - y * B)) by ring. rewrite <- (Rmult_0_r c) at 1. apply RmaxRmult, Hc.
  - rewrite <- total_scaled. induction n as [|n In]; simpl; [ring|]. rewrite In, !Rmult_assoc, IH. ring.
  - unfold each; rewrite !Rmult_assoc, !IH; ring.
Qed.

Lemma gain_adds t : forall A A' B B', gain t (A + A') (B + B') <= gain t A B + gain t A' B'.
Proof.
  induction t as [|eps d n chance next IH | chance next IH]; simpl; intros A A' B B'.
  - replace (A + A' - y * (B + B')) with ((A - y * B) + (A' - y * B')) by ring.
    unfold Rmax; repeat destruct Rle_dec; lra.
  - induction n as [|n In]; simpl; [lra|]. rewrite !Rmult_plus_distr_r.
    pose proof (IH n (A * chance a n) (A' * chance a n) (B * chance b n) (B' * chance b n)). lra.
  - unfold each; rewrite !Rmult_plus_distr_r.
    pose proof (fun v => IH v (A * chance a v) (A' * chance a v) (B * chance b v) (B' * chance b v)) as H.
    pose proof (H (Clear true)); pose proof (H (Clear false)); pose proof (H TooClose); lra.
Qed.

(** The probabilities of a three-way answer. *)
Lemma one_clock_sums r P Q : one_clock r P Q -> (forall v, 0 <= P v /\ 0 <= Q v) /\ each P = 1.
Proof.
  intros (right & f & p & q & [F0 F1] & S & (P1 & P2 & P3) & (Q1 & Q2 & Q3)).
  assert (0 < p <= 1 /\ 0 < q <= 1) as [Hp Hq] by (destruct S as [S | S]; apply slower_positive in S; lra).
  assert (M : forall c x, 0 <= c -> 0 <= x -> 0 <= c * x) by (intros; apply Rmult_le_pos; assumption).
  split.
  - intros [yes|]; [|rewrite P3, Q3; split; apply M; lra].
    destruct (Bool.bool_dec yes right) as [-> | D]; [rewrite P2, Q2; split; apply M; lra|].
    replace yes with (negb right) by (destruct yes, right; simpl; congruence). rewrite P1, Q1; lra.
  - unfold each; destruct right; simpl in *; rewrite P1, P2, P3; ring.
Qed.

(** More of Q gains less, and without any of Q nothing gains more than itself. *)
Lemma gain_falls r t : forall h e d, allowed r h e d t -> forall A B B', B <= B' -> gain t A B' <= gain t A B.
Proof.
  induction t as [|eps d' n chance next IH | chance next IH]; simpl; intros h e d L A B B' HB.
  - assert (y * B <= y * B') by (apply Rmult_le_compat_l; lra). unfold Rmax; repeat destruct Rle_dec; lra.
  - destruct L as (_ & _ & Hd & _ & L). apply total_le; intros i Hi. eapply IH; [apply L, Hi|].
    apply Rmult_le_compat_r; [apply Hd, Hi | assumption].
  - destruct h as [|h]; [contradiction|]. destruct L as (C & Ln & Lc). destruct (one_clock_sums _ _ _ (C a b N)) as [Pos _].
    apply each_le; intros [yes|]; (eapply IH; [eauto|]; apply Rmult_le_compat_r; [apply Pos | assumption]).
Qed.

Lemma gain_alone r t : forall h e d, allowed r h e d t -> forall A, 0 <= A -> gain t A 0 <= A.
Proof.
  induction t as [|eps d' n chance next IH | chance next IH]; simpl; intros h e d L A HA.
  - unfold Rmax; destruct Rle_dec; lra.
  - destruct L as (_ & _ & Hd & _ & L). destruct (Hd a) as [Pos One].
    apply Rle_trans with (total n (fun i => A * chance a i)); [|rewrite total_scaled, One; lra].
    apply total_le; intros i Hi. rewrite Rmult_0_l. eapply IH; [apply L, Hi|]. apply Rmult_le_pos; auto.
  - destruct h as [|h]; [contradiction|]. destruct L as (C & Ln & Lc). destruct (one_clock_sums _ _ _ (C a b N)) as [Pos One].
    apply Rle_trans with (each (fun v => A * chance a v)); [|unfold each in *; rewrite <- !Rmult_plus_distr_l, One; lra].
    apply each_le; intros v; rewrite Rmult_0_l.
    destruct v as [yes|]; (eapply IH; [eauto|]; apply Rmult_le_pos; [lra | apply Pos]).
Qed.

(** One definite answer: where p <= e^eps * q it tells no more than its price, and the rest of p is at most d. *)
Lemma gain_definite r h e d eps d' n chance next K A B :
  allowed r h e d (Definite eps d' n chance next) -> 0 < A -> 0 < B -> 0 <= K ->
  (forall i, (i < n)%nat -> gain (next i) A (exp (- eps) * B) <= K) ->
  gain (Definite eps d' n chance next) A B <= K + d' * A.
Proof.
  intros L HA HB HK H. simpl in L. destruct L as ([He _] & [Hd' _] & Hd & Hw & L). destruct (Hd a) as [Pa Sa], (Hd b) as [Pb _].
  set (good i := Rmin (chance a i) (exp eps * chance b i)). pose proof (exp_pos eps) as X.
  assert (Inv : exp (- eps) * exp eps = 1) by (rewrite <- exp_plus, Rplus_opp_l; apply exp_0). pose proof (exp_pos (- eps)).
  assert (Each : forall i, (i < n)%nat ->
    gain (next i) (A * chance a i) (B * chance b i) <= K * good i + A * (chance a i + -1 * good i)).
  { intros i Hi. specialize (Pa i Hi); specialize (Pb i Hi). assert (G1 : good i <= chance a i) by apply Rmin_l.
    assert (G2 : good i <= exp eps * chance b i) by apply Rmin_r.
    assert (G0 : 0 <= good i) by (apply Rmin_glb; [|apply Rmult_le_pos]; lra).
    pose proof (gain_adds (next i) (good i * A) (A * (chance a i + -1 * good i)) (B * chance b i) 0) as S.
    replace (good i * A + A * (chance a i + -1 * good i)) with (A * chance a i) in S by ring. rewrite Rplus_0_r in S.
    pose proof (gain_alone r (next i) _ _ _ (L i Hi) (A * (chance a i + -1 * good i)) ltac:(apply Rmult_le_pos; lra)).
    assert (M : good i * (exp (- eps) * B) <= B * chance b i).
    { replace (B * chance b i) with (exp eps * chance b i * (exp (- eps) * B))
        by (transitivity (exp (- eps) * exp eps * (B * chance b i)); [ring | rewrite Inv; ring]).
      apply Rmult_le_compat_r; [apply Rmult_le_pos|]; lra. }
    pose proof (gain_falls r (next i) _ _ _ (L i Hi) (good i * A) _ _ M) as F. rewrite gain_scales in F by assumption.
    assert (good i * gain (next i) A (exp (- eps) * B) <= good i * K) by (apply Rmult_le_compat_l; auto). lra. }
  apply total_le in Each. rewrite total_plus in Each.
  assert (Sg : total n good <= 1) by (rewrite <- Sa; apply total_le; intros; apply Rmin_l).
  assert (Bad : total n (fun i => chance a i + -1 * good i) <= d').
  { specialize (Hw a b N (fun i => if Rle_dec (exp eps * chance b i) (chance a i) then true else false)). unfold likely in Hw.
    set (bad i := if if Rle_dec (exp eps * chance b i) (chance a i) then true else false then 1 else 0) in Hw.
    apply Rle_trans with (total n (fun i => 1 * (bad i * chance a i) + - exp eps * (bad i * chance b i)));
      [|rewrite total_plus; unfold bad in *; lra].
    apply total_le; intros i _; unfold good, bad, Rmin; repeat destruct Rle_dec; lra. }
  change (gain (Definite eps d' n chance next) A B) with (total n (fun i => gain (next i) (A * chance a i) (B * chance b i))).
  assert (K * total n good <= K * 1) by (apply Rmult_le_compat_l; lra).
  assert (A * total n (fun i => chance a i + -1 * good i) <= A * d') by (apply Rmult_le_compat_l; lra). lra.
Qed.

End Gain.

Section Together.
Variables (y r E : R) (tau : nat) (U : nat -> R -> R).
Hypothesis y_least : 0 <= y.
Hypothesis r_least : 1 <= r.
Hypothesis HU : bounds y r tau U.
Variables a b : G.
Hypothesis N : near a b.

Notation gained := (gain (y * exp E) a b).

(** One three-way question, at masses A and c * B, where d * A is gained in any case. *)
Lemma gain_three h d c chance next A B : (h < tau)%nat -> 0 < c -> one_clock r (chance a) (chance b) ->
  (forall yes A B, 0 < A -> 0 < B -> gained (next (Clear yes)) A B <= spread (U (S h)) A (c * B) + d * A) ->
  (forall A B, 0 < A -> 0 < B -> gained (next TooClose) A B <= spread (U h) A (c * B) + d * A) ->
  0 < A -> 0 < B -> gained (Three chance next) A B <= spread (U (S h)) A (c * B) + d * A.
Proof.
  intros Hh Hc (right & f & p & q & [F0 F1] & F & (P1 & P2 & P3) & (Q1 & Q2 & Q3)) Hn Hs HA HB.
  assert (0 < p <= 1 /\ 0 < q <= 1) as [Hp Hq] by (destruct F as [F | F]; apply slower_positive in F; lra).
  destruct (bends _ _ _ _ HU (S h)) as [l Pl]; [lia|]. assert (HcB : 0 < c * B) by (apply Rmult_lt_0_compat; lra).
  set (V A B := gained (next TooClose) A (B / c) - d * A).
  assert (K : spread (U (S h)) (A * p) (c * B * q) + V (A * (1 - p)) (c * B * (1 - q)) <= spread (U (S h)) A (c * B)).
  { apply (question r _ (spread (U h)) V l); auto using spread_scales, (bounds_bent y r tau U r_least HU h l Hh Pl).
    - intros k A' B' Hk; unfold V. replace (k * B' / c) with (k * (B' / c)) by (field; lra). rewrite gain_scales by lra. ring.
    - intros A' A'' B' B''; unfold V. replace ((B' + B'') / c) with (B' / c + B'' / c) by (field; lra).
      pose proof (gain_adds (y * exp E) a b (next TooClose) A' A'' (B' / c) (B'' / c)). lra.
    - intros A' B' HA' HB'; unfold V. pose proof (Hs A' (B' / c) HA' ltac:(apply Rdiv_lt_0_compat; lra)) as T.
      replace (c * (B' / c)) with B' in T by (field; lra). lra.
    - intros A' B' HA' HB'; apply Rmult_le_compat_l; [lra|].
      apply (inequality_3 _ _ _ _ HU); [assumption | apply Rdiv_lt_0_compat; lra]. }
  unfold V in K. replace (c * B * (1 - q) / c) with (B * (1 - q)) in K by (field; lra).
  assert (R := Hn right (A * p) (B * q) ltac:(apply Rmult_lt_0_compat; lra) ltac:(apply Rmult_lt_0_compat; lra)).
  rewrite <- Rmult_assoc in R. assert (W := Hn (negb right) A B HA HB).
  assert (gained (Three chance next) A B = f * gained (next (Clear (negb right))) A B + (1 - f) *
    (gained (next (Clear right)) (A * p) (B * q) + gained (next TooClose) (A * (1 - p)) (B * (1 - q)))) as ->.
  { assert (T : forall c x, A * (c * x) = c * (A * x) /\ B * (c * x) = c * (B * x)) by (intros; split; ring).
    destruct right; simpl in *; unfold each; rewrite P1, P2, P3, Q1, Q2, Q3, (Rmult_comm A f), (Rmult_comm B f),
      !(proj1 (T _ _)), !(proj2 (T _ _)), !gain_scales by lra; ring. }
  apply Rmult_le_compat_l with (r := f) in W; [|lra].
  assert ((1 - f) * (gained (next (Clear right)) (A * p) (B * q) + gained (next TooClose) (A * (1 - p)) (B * (1 - q)))
    <= (1 - f) * (spread (U (S h)) A (c * B) + d * A)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma gain_bounded t : forall h e d, allowed r h e d t -> (h <= tau)%nat -> 0 <= e <= E -> 0 <= d ->
  forall A B, 0 < A -> 0 < B -> gained t A B <= spread (U h) A (exp (E - e) * B) + d * A.
Proof.
  assert (Hy : 0 <= y * exp E) by (apply Rmult_le_pos; [|left; apply exp_pos]; lra).
  assert (Least : forall h A B, (h <= tau)%nat -> 0 < A -> 0 < B -> Rmax 0 (A - y * B) <= spread (U h) A B).
  { intros h A B Hh HA HB; unfold spread.
    pose proof (bounds_least y r tau U HU h (A / B) Hh ltac:(apply Rdiv_lt_0_compat; lra)) as L.
    apply Rmult_le_compat_l with (r := B) in L; [|lra]. rewrite <- RmaxRmult in L by lra.
    replace (B * (A / B - y)) with (A - y * B) in L by (field; lra). rewrite Rmult_0_r in L. exact L. }
  induction t as [|eps d' n chance next IH | chance next IH]; intros h e d L Hh He Hd A B HA HB.
  all: assert (HcB : 0 < exp (E - e) * B) by (apply Rmult_lt_0_compat; [apply exp_pos | lra]).
  all: pose proof (Least h A _ Hh HA HcB) as Le; assert (0 <= d * A) by (apply Rmult_le_pos; lra).
  - simpl. apply Rle_trans with (Rmax 0 (A - y * (exp (E - e) * B))); [|lra].
    assert (y * (exp (E - e) * B) <= y * (exp E * B)).
    { apply Rmult_le_compat_l, Rmult_le_compat_r; [lra | lra |]. apply exp_rises; lra. }
    unfold Rmax; repeat destruct Rle_dec; lra.
  - pose proof (Rmax_l 0 (A - y * (exp (E - e) * B))). assert (L' := L). destruct L' as ([He1 He2] & [Hd1 Hd2] & _ & _ & Ln).
    assert (0 <= (d - d') * A) by (apply Rmult_le_pos; lra).
    pose proof (gain_definite _ a b Hy N r h e d eps d' n chance next
      (spread (U h) A (exp (E - e) * B) + (d - d') * A) A B L HA HB ltac:(lra)) as K.
    enough (gained (Definite eps d' n chance next) A B <= spread (U h) A (exp (E - e) * B) + (d - d') * A + d' * A) by lra.
    apply K; intros i Hi. assert (Q : 0 < exp (- eps) * B) by (apply Rmult_lt_0_compat; [apply exp_pos | lra]).
    pose proof (IH i h (e - eps) (d - d') (Ln i Hi) Hh ltac:(lra) ltac:(lra) A _ HA Q) as I.
    rewrite <- Rmult_assoc, <- exp_plus in I. replace (E - (e - eps) + - eps) with (E - e) in I by ring. exact I.
  - destruct h as [|h]; simpl in L; [contradiction|]. destruct L as (C & Ln & Lc).
    apply gain_three; auto using exp_pos; intros; apply IH; auto; lia.
Qed.

(** The theorem: y is e^E1, U tau 1 is D1, and E and D are what was set aside for definite answers. *)
Theorem together D t f : 0 <= E -> 0 <= D -> allowed r tau E D t -> (forall s, probability (f s)) ->
  mean_of a t f <= y * exp E * mean_of b t f + (U tau 1 + D).
Proof.
  intros HE HD L Hf. pose proof (mean_gain (y * exp E) a b t f 1 1 Hf).
  pose proof (gain_bounded t tau E D L (le_n _) ltac:(lra) HD 1 1 Rlt_0_1 Rlt_0_1) as B.
  unfold spread in B. replace (E - E) with 0 in B by ring. rewrite exp_0 in B. replace (1 * 1) with 1 in B by ring.
  replace (1 / 1) with 1 in B by field. lra.
Qed.

End Together.
End Concurrent.
