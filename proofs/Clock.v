(** One question of the game: a clock that is watched for a while (close-calls.md, "One question is one clock").

    W is a bound on what can be gained with the strikes that are left, W' with one strike less, and V is what the adversary
    does gain after a strike. All are functions of the masses A of P and B of Q, W A B = B * U (A / B) for the U of the page.
    Where U is straight, U x = alpha * x + beta, (1), (2) and (3) of the page read

      W' (r A) B <= alpha * (r A) + beta * B,    W' A (r B) <= alpha * A + beta * (r B),    W' A B <= W A B,

    and P and Q can be exchanged by looking at them in a mirror. So only a faster clock of P has to be looked at.

    While A / B runs along one straight piece, no integral is needed: what is lost of W is alpha * (A that struck) + beta *
    (B that struck), and what struck is shared among two clocks, one r times as fast under P and one that is equally
    fast, each of which pays for itself. A longer time is cut where A / B comes to the end of a piece. *)

From Coq Require Import Reals Lra Psatz List.
From Duotone Require Import Exp.
Open Scope R_scope.

(** Not struck: p = e^(-rho s) and q = e^(-s). Then 1 - p is from rho * (1 - q) * p / q to rho * (1 - q). *)
Lemma strikes rho s : 1 <= rho -> 0 <= s ->
  rho * exp (- ((rho - 1) * s)) * (1 - exp (- s)) <= 1 - exp (- (rho * s)) <= rho * (1 - exp (- s)).
Proof.
  intros Hr Hs; split.
  - pose proof (exp_chord rho s Hr) as C. pose proof (exp_pos (- (rho * s))) as P.
    apply Rmult_le_compat_r with (r := exp (- (rho * s))) in C; [|lra].
    replace (rho * (exp s - 1) * exp (- (rho * s))) with (rho * (exp s * exp (- (rho * s)) - exp (- (rho * s)))) in C by ring.
    replace ((exp (rho * s) - 1) * exp (- (rho * s))) with (exp (rho * s) * exp (- (rho * s)) - exp (- (rho * s))) in C by ring.
    rewrite <- !exp_plus, Rplus_opp_r, exp_0 in C. replace (s + - (rho * s)) with (- ((rho - 1) * s)) in C by ring.
    assert (E : exp (- (rho * s)) = exp (- ((rho - 1) * s)) * exp (- s)) by (rewrite <- exp_plus; f_equal; ring).
    rewrite E in C at 1. lra.
  - pose proof (exp_chord rho (- s) Hr) as C. replace (rho * - s) with (- (rho * s)) in C by ring. lra.
Qed.

(** The time at which l * e^(-c s) comes to m. *)
Lemma comes_to c l m s : 0 < c -> 0 < l -> l * exp (- (c * s)) < m -> m < l ->
  exists s', 0 < s' < s /\ l * exp (- (c * s')) = m.
Proof.
  intros Hc Hl H1 H2. assert (Hm : 0 < m) by (pose proof (Rmult_lt_0_compat _ _ Hl (exp_pos (- (c * s)))); lra).
  destruct (logarithm (l / m)) as [z Ez]; [apply Rdiv_lt_0_compat; lra|].
  exists (z / c). assert (E : l * exp (- (c * (z / c))) = m).
  { replace (c * (z / c)) with z by (field; lra). rewrite exp_Ropp, Ez. field; lra. }
  split; [|exact E]. set (s' := z / c) in *. clearbody s'. split; apply Rnot_le_lt; intros L.
  - assert (1 <= exp (- (c * s'))) by (apply exp_at_least_one; nra).
    assert (l * 1 <= l * exp (- (c * s'))) by (apply Rmult_le_compat_l; lra). lra.
  - assert (exp (- (c * s')) <= exp (- (c * s))) by (apply exp_rises; nra).
    assert (l * exp (- (c * s')) <= l * exp (- (c * s))) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(** Two clocks are watched for a time s, one of rate 1, one of a rate from 1 to r: they do not strike with q, and with p. In
    other words, q^r <= p <= q; but no power has to be defined. *)
Definition slower r p q := exists rate s, 1 <= rate <= r /\ 0 <= s /\ p = exp (- (rate * s)) /\ q = exp (- s).

Section Clock.
Variables (r : R).

(** Both bounds where A / B is from x to z. *)
Definition straight (W W' : R -> R -> R) x z := exists alpha beta, forall A B,
  0 < B -> x * B <= A <= z * B ->
  W A B = alpha * A + beta * B /\
  W' (r * A) B <= alpha * (r * A) + beta * B /\ W' A (r * B) <= alpha * A + beta * (r * B) /\ W' A B <= W A B.

(** Straight but for finitely many bends. *)
Definition bent W W' bends := forall x z, 0 < x < z -> (forall m, In m bends -> ~ x < m < z) -> straight W W' x z.

Definition mirror (W : R -> R -> R) A B := W B A.

Lemma bent_mirror W W' bends : bent W W' bends -> bent (mirror W) (mirror W') (map Rinv bends).
Proof.
  intros H x z [Hx Hz] N. assert (0 < z) by lra. assert (0 < / z) by (apply Rinv_0_lt_compat; lra).
  destruct (H (/ z) (/ x)) as (alpha & beta & L).
  - split; [lra | apply Rinv_lt_contravar; [nra | lra]].
  - intros m Hm [L R]. apply (N (/ m)); [apply in_map, Hm|]. assert (0 < / x) by lra.
    rewrite <- (Rinv_inv x), <- (Rinv_inv z).
    split; apply Rinv_lt_contravar; try assumption; apply Rmult_lt_0_compat; lra.
  - exists beta, alpha; intros A B HB [LA LB]. assert (0 < A) by nra.
    destruct (L B A) as (E & L1 & L2 & L3); [assumption | | unfold mirror; repeat split; lra].
    split; [apply Rmult_le_reg_l with z | apply Rmult_le_reg_l with x]; try assumption; rewrite <- Rmult_assoc, Rinv_r; lra.
Qed.

Section Watch.
Variables W W' V : R -> R -> R.
Hypothesis V_scales : forall c A B, 0 <= c -> V (c * A) (c * B) = c * V A B.
Hypothesis V_adds : forall A A' B B', V (A + A') (B + B') <= V A B + V A' B'.
Hypothesis V_most : forall A B, 0 < A -> 0 < B -> V A B <= W' A B.

(** A clock of rates rho and 1 is two clocks together, one of rates w * r and w, and one of rate 1 - w under both. *)
Lemma two_clocks rho X Y alpha beta : 1 < rho <= r -> 0 < X -> 0 < Y ->
  W' (r * X) Y <= alpha * (r * X) + beta * Y -> W' X Y <= alpha * X + beta * Y ->
  V (rho * X) Y <= alpha * (rho * X) + beta * Y.
Proof.
  intros Hr HX HY L1 L3. set (w := (rho - 1) / (r - 1)).
  assert (Hw : rho = w * r + (1 - w)) by (unfold w; field; lra). clearbody w.
  assert (W01 : 0 <= w <= 1) by (split; apply Rmult_le_reg_r with (r - 1); lra).
  assert (V (rho * X) Y <= w * V (r * X) Y + (1 - w) * V X Y).
  { rewrite <- !V_scales by lra.
    replace (rho * X) with (w * (r * X) + (1 - w) * X) by (rewrite Hw; ring).
    replace Y with (w * Y + (1 - w) * Y) at 1 by ring. apply V_adds. }
  pose proof (V_most (r * X) Y ltac:(apply Rmult_lt_0_compat; lra) HY). pose proof (V_most X Y HX HY).
  assert (w * V (r * X) Y <= w * (alpha * (r * X) + beta * Y)) by (apply Rmult_le_compat_l; lra).
  assert ((1 - w) * V X Y <= (1 - w) * (alpha * X + beta * Y)) by (apply Rmult_le_compat_l; lra).
  replace (alpha * (rho * X)) with (alpha * (w * (r * X) + (1 - w) * X)) by (rewrite Hw; ring). lra.
Qed.

(** What is left, and what is gained by a strike, after a clock was watched for a time s: it has rate 1 under Q, rho under P. *)
Definition watched rho s A B :=
  W (A * exp (- (rho * s))) (B * exp (- s)) + V (A * (1 - exp (- (rho * s)))) (B * (1 - exp (- s))).

Lemma watched_briefly rho s A B : 1 < rho <= r -> 0 < s -> 0 < A -> 0 < B ->
  straight W W' (A / B * exp (- ((rho - 1) * s))) (A / B) -> watched rho s A B <= W A B.
Proof.
  intros Hr Hs HA HB (alpha & beta & L); unfold watched.
  destruct (strikes rho s) as [C2 C1]; [lra | lra |].
  assert (Ep : exp (- (rho * s)) = exp (- ((rho - 1) * s)) * exp (- s)) by (rewrite <- exp_plus; f_equal; ring).
  assert (Q1 := exp_below s Hs). assert (K1 : exp (- ((rho - 1) * s)) < 1) by (apply exp_below, Rmult_lt_0_compat; lra).
  pose proof (exp_pos (- s)) as Hq. pose proof (exp_pos (- ((rho - 1) * s))) as Hk.
  set (p := exp (- (rho * s))) in *. set (q := exp (- s)) in *. set (k := exp (- ((rho - 1) * s))) in *.
  set (X := A * (1 - p) / rho). set (Y := B * (1 - q)).
  assert (EX : A * (1 - p) = rho * X) by (unfold X; field; lra).
  assert (HY : 0 < Y) by (apply Rmult_lt_0_compat; lra).
  assert (Hl : 0 < A / B) by (apply Rdiv_lt_0_compat; lra).
  assert (El : A = A / B * B) by (field; lra). set (l := A / B) in *. clearbody p q k l.
  assert (IX : l * k * Y <= X <= l * Y).
  { split; apply Rmult_le_reg_l with rho; try lra; rewrite <- EX.
    - replace (rho * (l * k * Y)) with (A * (rho * k * (1 - q))) by (rewrite El; unfold Y; ring). apply Rmult_le_compat_l; lra.
    - replace (rho * (l * Y)) with (A * (rho * (1 - q))) by (rewrite El; unfold Y; ring). apply Rmult_le_compat_l; lra. }
  assert (HX : 0 < X) by (pose proof (Rmult_lt_0_compat _ _ (Rmult_lt_0_compat _ _ Hl Hk) HY); lra).
  assert (Lk : l * k <= l * 1) by (apply Rmult_le_compat_l; lra). rewrite Rmult_1_r in Lk.
  assert (Hk' : l * k * B <= A) by (rewrite El; apply Rmult_le_compat_r; lra).
  destruct (L A B) as [-> _]; [lra | lra |].
  destruct (L (A * p) (B * q)) as [-> _]; [apply Rmult_lt_0_compat; lra | |].
  { replace (A * p) with (l * k * (B * q)) by (rewrite Ep, El; ring). split; [lra|].
    apply Rmult_le_compat_r; [apply Rmult_le_pos|]; lra. }
  destruct (L X Y HY IX) as (E & L1 & _ & L3). rewrite E in L3.
  pose proof (two_clocks rho X Y alpha beta Hr HX HY L1 L3). rewrite EX; fold Y.
  assert (alpha * (A * (1 - p)) = alpha * (rho * X)) by (rewrite EX; reflexivity). unfold Y in *; lra.
Qed.

(** A time is cut in two: strikes in the first part, and in the second. *)
Lemma watched_twice rho s s' A B : 0 < A -> 0 < B ->
  watched rho s A B <= W A B ->
  watched rho s' (A * exp (- (rho * s))) (B * exp (- s)) <= W (A * exp (- (rho * s))) (B * exp (- s)) ->
  watched rho (s + s') A B <= W A B.
Proof.
  unfold watched; intros HA HB H H'.
  assert (E : exp (- (rho * (s + s'))) = exp (- (rho * s)) * exp (- (rho * s'))) by (rewrite <- exp_plus; f_equal; ring).
  assert (F : exp (- (s + s')) = exp (- s) * exp (- s')) by (rewrite <- exp_plus; f_equal; ring). rewrite E, F.
  revert H H'; generalize (exp (- (rho * s))) (exp (- (rho * s'))) (exp (- s)) (exp (- s')); intros p p' q q' H H'.
  pose proof (V_adds (A * (1 - p)) (A * p * (1 - p')) (B * (1 - q)) (B * q * (1 - q'))) as S.
  replace (A * (1 - p) + A * p * (1 - p')) with (A * (1 - p * p')) in S by ring.
  replace (B * (1 - q) + B * q * (1 - q')) with (B * (1 - q * q')) in S by ring.
  rewrite !Rmult_assoc in *. lra.
Qed.

(** However long: by the number of bends that A / B comes past. *)
Lemma watched_long bends rho : bent W W' bends -> 1 < rho <= r -> forall left s A B, 0 < s -> 0 < A -> 0 < B ->
  (forall m, In m bends -> A / B * exp (- ((rho - 1) * s)) < m < A / B -> In m left) -> watched rho s A B <= W A B.
Proof.
  intros H Hr left; induction left as [|m left IH]; intros s A B Hs HA HB N.
  - apply watched_briefly; auto. apply H; [|intros m Hm Hi; apply (N m Hm Hi)].
    assert (Hl : 0 < A / B) by (apply Rdiv_lt_0_compat; lra). pose proof (exp_pos (- ((rho - 1) * s))).
    assert (exp (- ((rho - 1) * s)) < 1) by (apply exp_below, Rmult_lt_0_compat; lra).
    split; [apply Rmult_lt_0_compat; lra|]. rewrite <- (Rmult_1_r (A / B)) at 2. apply Rmult_lt_compat_l; lra.
  - destruct (Rlt_dec m (A / B)) as [L1 | L1].
    2:{ apply IH; auto. intros m' Hm' Hi. destruct (N m' Hm' Hi) as [-> | ?]; [lra | assumption]. }
    destruct (Rlt_dec (A / B * exp (- ((rho - 1) * s))) m) as [L2 | L2].
    2:{ apply IH; auto. intros m' Hm' Hi. destruct (N m' Hm' Hi) as [-> | ?]; [lra | assumption]. }
    destruct (comes_to (rho - 1) (A / B) m s) as (s1 & S1 & E1); [lra | apply Rdiv_lt_0_compat; lra | lra | lra |].
    pose proof (exp_pos (- (rho * s1))). pose proof (exp_pos (- s1)).
    assert (E : A * exp (- (rho * s1)) / (B * exp (- s1)) = m).
    { rewrite <- E1. replace (exp (- (rho * s1))) with (exp (- ((rho - 1) * s1)) * exp (- s1))
        by (rewrite <- exp_plus; f_equal; ring). field; lra. }
    replace s with (s1 + (s - s1)) by ring. apply watched_twice; auto; apply IH; try (apply Rmult_lt_0_compat; lra); try lra.
    + rewrite E1; intros m' Hm' Hi. destruct (N m' Hm') as [-> | ?]; [lra | lra | assumption].
    + rewrite E; intros m' Hm' Hi. replace (m * exp (- ((rho - 1) * (s - s1)))) with (A / B * exp (- ((rho - 1) * s))) in Hi.
      * destruct (N m' Hm') as [-> | ?]; [lra | lra | assumption].
      * rewrite <- E1, Rmult_assoc, <- exp_plus; do 2 f_equal; ring.
Qed.

Hypothesis W_scales : forall c A B, 0 < c -> 0 < A -> 0 < B -> W (c * A) (c * B) = c * W A B.
Hypothesis W_more : forall A B, 0 < A -> 0 < B -> W' A B <= W A B.

Lemma faster_clock bends p q A B : bent W W' bends -> slower r p q -> 0 < A -> 0 < B ->
  W (A * p) (B * q) + V (A * (1 - p)) (B * (1 - q)) <= W A B.
Proof.
  intros H (rate & s & [R1 R2] & Hs & -> & ->) HA HB.
  assert (Equal : rate * s = s -> watched rate s A B <= W A B).
  { intros E; unfold watched; rewrite E. assert (exp (- s) <= 1) by (rewrite <- exp_0; apply exp_rises; lra).
    pose proof (exp_pos (- s)). set (q := exp (- s)) in *.
    rewrite (Rmult_comm A q), (Rmult_comm B q), (Rmult_comm A), (Rmult_comm B), V_scales, W_scales by lra.
    pose proof (V_most A B HA HB). pose proof (W_more A B HA HB).
    assert ((1 - q) * V A B <= (1 - q) * W A B) by (apply Rmult_le_compat_l; lra). lra. }
  destruct R1 as [R1 | <-]; [|apply Equal; ring]. destruct Hs as [Hs | <-]; [|apply Equal; ring].
  apply (watched_long bends rate H (conj R1 R2) bends); auto.
Qed.

End Watch.

Lemma slower_positive p q : slower r p q -> 0 < p <= 1 /\ 0 < q <= 1.
Proof.
  intros (rate & s & Hr & Hs & -> & ->). assert (0 <= rate * s) by (apply Rmult_le_pos; lra).
  repeat split; try apply exp_pos; rewrite <- exp_0; apply exp_rises; lra.
Qed.

(** The theorem for one question, whichever of P and Q has the faster clock. *)
Theorem question W W' V bends p q A B :
  (forall c A B, 0 <= c -> V (c * A) (c * B) = c * V A B) ->
  (forall A A' B B', V (A + A') (B + B') <= V A B + V A' B') ->
  (forall A B, 0 < A -> 0 < B -> V A B <= W' A B) ->
  (forall c A B, 0 < c -> 0 < A -> 0 < B -> W (c * A) (c * B) = c * W A B) ->
  (forall A B, 0 < A -> 0 < B -> W' A B <= W A B) ->
  bent W W' bends -> slower r p q \/ slower r q p -> 0 < A -> 0 < B ->
  W (A * p) (B * q) + V (A * (1 - p)) (B * (1 - q)) <= W A B.
Proof.
  intros Vs Va Vm Ws Wm H [F | F] HA HB; [eapply faster_clock; eauto|].
  apply (faster_clock (mirror W) (mirror W') (mirror V)) with (bends := map Rinv bends); unfold mirror in *; auto.
  apply bent_mirror, H.
Qed.

End Clock.
