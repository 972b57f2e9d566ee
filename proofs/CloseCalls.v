(** The theorem of docs/theory.md: functions U_0, ..., U_tau that meet (0) to (3) of the page bound what any number of
    three-way questions tell until the tau-th close call, whatever is asked, by U_tau (1).

    A strategy is a finite tree, of any depth: any number N of questions. The bound does not depend on N; for sets of infinite
    transcripts it takes the usual approximation by sets that the first N answers decide, which is not formalised here. P and Q
    may be exchanged, since neighbours may.

    With masses A of P and B of Q left, h close calls left and any strategy, P(S) - e^E * Q(S) gains at most B * U_h (A / B):
    where nothing more is asked by (0) and (3), and from one question to the next by [Clock.question]. *)

From Coq Require Import Reals Lra Psatz List Lia.
From Duotone Require Import Step Graph Clock Game.
Open Scope R_scope.

(** Continuous, and straight but for finitely many bends. *)
Definition piecewise bends (U : R -> R) := forall x z, 0 < x < z -> (forall m, In m bends -> ~ x < m < z) ->
  exists alpha beta, forall t, x <= t <= z -> U t = alpha * t + beta.

(** What is asked of the functions: y is e^E, and the derivative is wherever there is one. *)
Record bounds (y r : R) (tau : nat) (U : nat -> R -> R) := {
  bends h : (h <= tau)%nat -> exists bends, piecewise bends (U h);
  inequality_0 t : 0 < t -> Rmax 0 (t - y) <= U O t;
  inequality_1 h t slope : (h < tau)%nat -> 0 < t -> derivable_pt_lim (U (S h)) t slope ->
    U h (r * t) <= U (S h) t + (r - 1) * t * slope;
  inequality_2 h t slope : (h < tau)%nat -> 0 < t -> derivable_pt_lim (U (S h)) t slope ->
    r * U h (t / r) <= r * U (S h) t - (r - 1) * t * slope;
  inequality_3 h t : (h < tau)%nat -> 0 < t -> U h t <= U (S h) t
}.

(** Between bends what holds inside holds at the ends. *)
Lemma line_right a b x z : x < z -> (forall t, x < t < z -> a * t + b <= 0) -> a * x + b <= 0.
Proof.
  intros Hz H; apply Rnot_lt_le; intros C.
  set (c := Rabs a + 1). assert (Ha : - a <= Rabs a) by (rewrite <- Rabs_Ropp; apply Rle_abs).
  assert (Hc : 0 < c) by (unfold c; pose proof (Rabs_pos a); lra).
  set (e := Rmin ((z - x) / 2) ((a * x + b) / c)).
  assert (0 < (a * x + b) / c) by (apply Rdiv_lt_0_compat; lra).
  assert (He : 0 < e) by (apply Rmin_glb_lt; lra). assert (e <= (z - x) / 2) by apply Rmin_l.
  assert (e * c <= a * x + b).
  { apply Rle_trans with ((a * x + b) / c * c); [apply Rmult_le_compat_r; [lra | apply Rmin_r] | right; field; lra]. }
  specialize (H (x + e) ltac:(lra)). assert (- a * e <= Rabs a * e) by (apply Rmult_le_compat_r; lra). unfold c in *. lra.
Qed.

Lemma line_left a b x z : x < z -> (forall t, x < t < z -> a * t + b <= 0) -> a * z + b <= 0.
Proof.
  intros Hz H. replace (a * z + b) with (- a * - z + b) by ring. apply line_right with (- x); [lra|].
  intros t Ht. specialize (H (- t)). lra.
Qed.

Lemma clear_right (l : list R) v w : v < w -> exists u, v < u <= w /\ forall m, In m l -> ~ v < m < u.
Proof.
  intros H; induction l as [|m l (u & Hu & L)]; [exists w; split; [lra | intros ? []]|].
  destruct (Rlt_dec v m) as [Hm | Hm]; [|exists u; split; auto; intros m' [<- | I]; [lra | auto]].
  exists (Rmin u m); pose proof (Rmin_l u m); pose proof (Rmin_r u m). assert (v < Rmin u m) by (apply Rmin_glb_lt; lra).
  split; [lra|]. intros m' [<- | I]; [lra | specialize (L m' I); lra].
Qed.

Lemma clear_left (l : list R) v w : v < w -> exists u, v <= u < w /\ forall m, In m l -> ~ u < m < w.
Proof.
  intros H; destruct (clear_right (map Ropp l) (- w) (- v)) as (u & Hu & L); [lra|].
  exists (- u); split; [lra|]. intros m I C. apply (L (- m)); [apply in_map, I | lra].
Qed.

Lemma at_the_ends l F c a b x z : piecewise l F -> 0 < c -> 0 < x < z ->
  (forall t, x < t < z -> F (c * t) <= a * t + b) -> forall t, x <= t <= z -> F (c * t) <= a * t + b.
Proof.
  intros HF Hc [Hx Hz] H t [[Lx | <-] [Lz | E]]; try lra; auto.
  - subst t. assert (c * x < c * z) by (apply Rmult_lt_compat_l; lra).
    destruct (clear_left l (c * x) (c * z)) as (u & Hu & L); [assumption|].
    assert (0 < c * x) by (apply Rmult_lt_0_compat; lra).
    destruct (HF u (c * z)) as (al & be & E); [lra | exact L |]. rewrite E by lra.
    enough ((al * c - a) * z + (be - b) <= 0) by lra. apply line_left with (u / c).
    { apply Rmult_lt_reg_l with c; [lra|]. replace (c * (u / c)) with u by (field; lra). lra. }
    intros t Ht. assert (u < c * t < c * z).
    { split; [|apply Rmult_lt_compat_l; lra]. replace u with (c * (u / c)) by (field; lra). apply Rmult_lt_compat_l; lra. }
    assert (x < t) by (apply Rmult_lt_reg_l with c; lra). specialize (H t ltac:(lra)). rewrite E in H by lra. lra.
  - assert (c * x < c * z) by (apply Rmult_lt_compat_l; lra).
    destruct (clear_right l (c * x) (c * z)) as (u & Hu & L); [assumption|].
    assert (0 < c * x) by (apply Rmult_lt_0_compat; lra).
    destruct (HF (c * x) u) as (al & be & E); [lra | exact L |]. rewrite E by lra.
    enough ((al * c - a) * x + (be - b) <= 0) by lra. apply line_right with (u / c).
    { apply Rmult_lt_reg_l with c; [lra|]. replace (c * (u / c)) with u by (field; lra). lra. }
    intros t Ht. assert (c * x < c * t < u).
    { split; [apply Rmult_lt_compat_l; lra|]. replace u with (c * (u / c)) by (field; lra). apply Rmult_lt_compat_l; lra. }
    assert (t < z) by (apply Rmult_lt_reg_l with c; lra). specialize (H t ltac:(lra)). rewrite E in H by lra. lra.
Qed.

(** A straight function has its slope for derivative. *)
Lemma straight_slope U a b x z t : x < t < z -> (forall t, x <= t <= z -> U t = a * t + b) -> derivable_pt_lim U t a.
Proof.
  intros Ht E e He. assert (Hd : 0 < Rmin (t - x) (z - t)) by (apply Rmin_glb_lt; lra).
  exists (mkposreal _ Hd); intros h Hh Lh; simpl in Lh. apply Rabs_def2 in Lh.
  pose proof (Rmin_l (t - x) (z - t)). pose proof (Rmin_r (t - x) (z - t)).
  rewrite !E by lra. replace ((a * (t + h) + b - (a * t + b)) / h - a) with 0 by (field; assumption).
  rewrite Rabs_R0; assumption.
Qed.

Definition spread (U : R -> R) A B := B * U (A / B).

Section CloseCalls.
Variables (y r : R) (tau : nat) (U : nat -> R -> R).
Hypothesis r_least : 1 <= r.
Hypothesis HU : bounds y r tau U.

Lemma bounds_bent h l : (h < tau)%nat -> piecewise l (U (S h)) -> bent r (spread (U (S h))) (spread (U h)) l.
Proof.
  intros Hh P x z [Hx Hz] N. destruct (P x z) as (al & be & E); [lra | exact N |].
  destruct (bends _ _ _ _ HU h) as [l' P']; [lia|].
  assert (D : forall t, x < t < z -> derivable_pt_lim (U (S h)) t al) by (intros; eapply straight_slope; eauto).
  assert (H1 : forall t, x <= t <= z -> U h (r * t) <= al * r * t + be).
  { apply (at_the_ends l'); auto; [lra|]. intros t Ht.
    pose proof (inequality_1 _ _ _ _ HU h t al Hh ltac:(lra) (D t Ht)) as I. rewrite E in I by lra. lra. }
  assert (H2 : forall t, x <= t <= z -> U h (/ r * t) <= al / r * t + be).
  { apply (at_the_ends l'); auto; [apply Rinv_0_lt_compat; lra|]. intros t Ht.
    pose proof (inequality_2 _ _ _ _ HU h t al Hh ltac:(lra) (D t Ht)) as I. rewrite E in I by lra.
    apply Rmult_le_reg_l with r; [lra|]. replace (/ r * t) with (t / r) by (field; lra).
    replace (r * (al / r * t + be)) with (al * t + r * be) by (field; lra). lra. }
  exists al, be; intros A B HB [LA LB]; unfold spread. set (t := A / B). assert (EA : A = t * B) by (unfold t; field; lra).
  assert (Ht : x <= t <= z) by (split; apply Rmult_le_reg_r with B; lra). clearbody t.
  replace (r * A / B) with (r * t) by (rewrite EA; field; lra).
  replace (A / (r * B)) with (/ r * t) by (rewrite EA; field; lra). rewrite E by lra. repeat split.
  - rewrite EA; ring.
  - replace (al * (r * A) + be * B) with (B * (al * r * t + be)) by (rewrite EA; ring). apply Rmult_le_compat_l; auto; lra.
  - replace (al * A + be * (r * B)) with (r * B * (al / r * t + be)) by (rewrite EA; field; lra).
    apply Rmult_le_compat_l; auto. apply Rmult_le_pos; lra.
  - rewrite <- E by lra. apply Rmult_le_compat_l; [lra|]. apply (inequality_3 _ _ _ _ HU); auto; lra.
Qed.

(** (0) and (3) make every U_h at least what is gained where nothing more is asked. *)
Lemma bounds_least h t : (h <= tau)%nat -> 0 < t -> Rmax 0 (t - y) <= U h t.
Proof.
  induction h as [|h IH]; intros Hh Ht; [apply (inequality_0 _ _ _ _ HU), Ht|].
  apply Rle_trans with (U h t); [apply IH; [lia | assumption] | apply (inequality_3 _ _ _ _ HU); [lia | assumption]].
Qed.

Lemma spread_scales V c A B : 0 < c -> 0 < A -> 0 < B -> spread V (c * A) (c * B) = c * spread V A B.
Proof. intros; unfold spread; replace (c * A / (c * B)) with (A / B) by (field; lra); ring. Qed.

Context {G : graph}.

(** One question: void, or watched. *)
Lemma value_question h chance next (a b : G) A B : (h < tau)%nat -> one_clock r (chance a) (chance b) ->
  (forall yes A B, 0 < A -> 0 < B -> value y a b (next (Clear yes)) A B <= spread (U (S h)) A B) ->
  (forall A B, 0 < A -> 0 < B -> value y a b (next TooClose) A B <= spread (U h) A B) ->
  0 < A -> 0 < B -> value y a b (Question chance next) A B <= spread (U (S h)) A B.
Proof.
  intros Hh (right & f & p & q & Hf & F & (P1 & P2 & P3) & (Q1 & Q2 & Q3)) Hn Hc HA HB.
  destruct (bends _ _ _ _ HU (S h)) as [l Pl]; [lia|].
  assert (K := question r _ _ (value y a b (next TooClose)) l p q A B
    (fun c A B Hc => value_scales y a b _ c Hc A B) (value_adds y a b _) Hc (spread_scales (U (S h)))
    ltac:(intros; apply Rmult_le_compat_l; [lra|]; apply (inequality_3 _ _ _ _ HU); [assumption | apply Rdiv_lt_0_compat; lra])
    (bounds_bent h l Hh Pl) F HA HB).
  assert (0 < p /\ 0 < q) as [Hp Hq] by (destruct F as [F | F]; apply slower_positive in F; lra).
  assert (R := Hn right (A * p) (B * q) ltac:(apply Rmult_lt_0_compat; lra) ltac:(apply Rmult_lt_0_compat; lra)).
  assert (N := Hn (negb right) A B HA HB).
  assert (value y a b (Question chance next) A B =
    f * value y a b (next (Clear (negb right))) A B + (1 - f) * (value y a b (next (Clear right)) (A * p) (B * q)
      + value y a b (next TooClose) (A * (1 - p)) (B * (1 - q)))) as ->.
  { destruct Hf. assert (T : forall c x, A * (c * x) = c * (A * x) /\ B * (c * x) = c * (B * x)) by (intros; split; ring).
    destruct right; simpl in *; unfold each; rewrite P1, P2, P3, Q1, Q2, Q3, (Rmult_comm A f), (Rmult_comm B f),
      !(proj1 (T _ _)), !(proj2 (T _ _)), !value_scales by lra; ring. }
  destruct Hf.
  assert (f * value y a b (next (Clear (negb right))) A B <= f * spread (U (S h)) A B) by (apply Rmult_le_compat_l; lra).
  assert ((1 - f) * (value y a b (next (Clear right)) (A * p) (B * q)
    + value y a b (next TooClose) (A * (1 - p)) (B * (1 - q))) <= (1 - f) * spread (U (S h)) A B)
    by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma value_bounded (a b : G) s : near a b -> forall h, (h <= tau)%nat -> plays r h s ->
  forall A B, 0 < A -> 0 < B -> value y a b s A B <= spread (U h) A B.
Proof.
  intros N; induction s as [|chance next IH]; intros h Hh P A B HA HB.
  - simpl; unfold spread. pose proof (bounds_least h (A / B) Hh ltac:(apply Rdiv_lt_0_compat; lra)) as L.
    apply Rmult_le_compat_l with (r := B) in L; [|lra]. rewrite <- RmaxRmult in L by lra.
    replace (B * (A / B - y)) with (A - y * B) in L by (field; lra). rewrite Rmult_0_r in L. exact L.
  - destruct h as [|h]; simpl in P; [contradiction|]. destruct P as (C & Pn & Pc).
    apply value_question; auto; intros; apply IH; auto; lia.
Qed.

(** The theorem: any strategy, any number of questions, every function of the transcript with values from 0 to 1. *)
Theorem close_calls_functions s f (a b : G) : plays r tau s -> near a b -> (forall t, probability (f t)) ->
  mean a s f <= y * mean b s f + U tau 1.
Proof.
  intros P N Hf. pose proof (mean_value y a b s f 1 1 Hf).
  pose proof (value_bounded a b s N tau (le_n _) P 1 1 Rlt_0_1 Rlt_0_1) as B.
  unfold spread in B. replace (1 / 1) with 1 in B by field. lra.
Qed.

(** And so every set of transcripts. *)
Theorem close_calls s S (a b : G) : plays r tau s -> near a b -> transcripts a s S <= y * transcripts b s S + U tau 1.
Proof. intros; apply close_calls_functions; auto. intros t; destruct (S t); split; lra. Qed.

End CloseCalls.
