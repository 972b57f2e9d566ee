(** One Rényi order: what an answer costs, and the filter of the account `renyi` (docs/theory.md, "One Rényi order").

    Let P and Q be how likely the answers are at two neighbours. They are close at order k + 1, price T and d if a part of P
    that lacks d at most has sum part^(k+1) / Q^k <= T, and a part of Q beside P. A yes/no mechanism may keep to just this; an
    answer that is (eps, d)-private over all events keeps to it at a price that [ordinary_price] gives.

    Whoever asks chooses the next question, mechanism and price by all answers so far. The ledger admits a charge if the
    product of the prices, with it, is at most B and the sum of the d at most D. Then all answers together are
    (eps, delta)-private with delta = D + B * k^k / ((k+1)^(k+1) * e^(k eps)).

    Why: the parts multiply along a path, so that of all transcripts a part lacks D at most and has the sum B at most; and where
    it exceeds e^eps times the other probability, then by part^(k+1) / Q^k times that constant at most: Bernoulli's
    inequality. *)

From Coq Require Import Reals Lra Psatz Lia List Bool.
From Duotone Require Import Step Graph Exp Sum.
Open Scope R_scope.

(** ** Powers *)

(** Inequalities in which powers are names. *)
Ltac named_powers := repeat match goal with
  | |- context [?x ^ ?n] => let p := fresh "p" in set (p := x ^ n) in *; clearbody p
  | H : context [?x ^ ?n] |- _ => let p := fresh "p" in set (p := x ^ n) in *; clearbody p
  end.
Ltac nra_powers := named_powers; nra.

Lemma power_least n x : 0 <= x -> 0 <= x ^ n.
Proof. apply pow_le. Qed.

(** Bernoulli's inequality, from -1 on. *)
Lemma bernoulli n z : 0 <= z -> 1 + INR n * (z - 1) <= z ^ n.
Proof.
  intros Hz; induction n as [|n IH]; [simpl; lra|]. rewrite S_INR. cbn [pow]. pose proof (pos_INR n).
  assert (z * (1 + INR n * (z - 1)) <= z * z ^ n) by (apply Rmult_le_compat_l; assumption).
  assert (0 <= INR n * ((z - 1) * (z - 1))) by (apply Rmult_le_pos; [assumption | apply Rle_0_sqr]). lra.
Qed.

(** A power is convex: below its chord. *)
Lemma power_convex n t u w : 0 <= t <= 1 -> 0 <= u -> 0 <= w -> (t * u + (1 - t) * w) ^ n <= t * u ^ n + (1 - t) * w ^ n.
Proof.
  intros Ht Hu Hw; induction n as [|n IH]; [simpl; lra|]. cbn [pow].
  assert (M : 0 <= (u - w) * (u ^ n - w ^ n)).
  { destruct (Rle_dec u w) as [L | L].
    - assert (u ^ n <= w ^ n) by (apply pow_incr; lra). nra.
    - assert (w ^ n <= u ^ n) by (apply pow_incr; lra). nra. }
  apply Rle_trans with ((t * u + (1 - t) * w) * (t * u ^ n + (1 - t) * w ^ n)).
  - apply Rmult_le_compat_l; [nra | exact IH].
  - assert (0 <= t * (1 - t)) by nra. nra.
Qed.

(** ** The price of an answer *)

Section Order.
Variable k : nat.

(** [r i] stands for part i ^ (k+1) / q i ^ k, and is anything where both are 0. *)
Definition priced T d n (p q : nat -> R) := exists part r : nat -> R,
  (forall i, (i < n)%nat -> 0 <= part i <= p i /\ 0 <= r i /\ part i ^ S k <= r i * q i ^ k) /\
  total n (fun i => p i - part i) <= d /\ total n r <= T.

(** Both ways round. *)
Definition renyi T d n p q := priced T d n p q /\ priced T d n q p.

Lemma total_minus n f g : total n (fun i => f i - g i) = total n f - total n g.
Proof. induction n as [|n IH]; cbn [total]; [ring | rewrite IH; ring]. Qed.

Lemma total_times n a f : total n (fun i => a * f i) = a * total n f.
Proof. induction n as [|n IH]; cbn [total]; [ring | rewrite IH; ring]. Qed.

Lemma total_same n f g : (forall i, (i < n)%nat -> f i = g i) -> total n f = total n g.
Proof. intros H; apply Rle_antisym; apply total_le; intros i Hi; rewrite (H i Hi); lra. Qed.

(** Who charges more than an answer needs does no harm: so prices may be rounded up. *)
Lemma priced_more T d T' d' n p q : T <= T' -> d <= d' -> priced T d n p q -> priced T' d' n p q.
Proof. intros HT Hd (part & r & H & L & M). exists part, r. repeat split; try apply H; auto; lra. Qed.

Lemma priced_itself n p : distribution n p -> priced 1 0 n p p.
Proof.
  intros [Hp S1]. exists p, p. split; [|split; [rewrite total_minus|]; lra].
  intros i Hi; specialize (Hp i Hi). repeat split; try lra. cbn [pow]; lra.
Qed.

(** ** The filter's constant *)

(** k^k / ((k+1)^(k+1) e^(k eps)), here for y = e^eps. *)
Definition tail_constant y := INR k ^ k / (INR (S k) ^ S k * y ^ k).

Hypothesis order : (1 <= k)%nat.

Lemma tail_constant_least y : 0 < y -> 0 < tail_constant y.
Proof.
  intros Hy. pose proof (lt_0_INR k ltac:(lia)). pose proof (lt_0_INR (S k) ltac:(lia)).
  unfold tail_constant. apply Rdiv_lt_0_compat; [apply pow_lt; assumption|].
  apply Rmult_lt_0_compat; apply pow_lt; assumption.
Qed.

(** The heart of it. *)
Lemma excess y u v r : 0 < y -> 0 <= u -> 0 <= v -> 0 <= r -> u ^ S k <= r * v ^ k -> u <= y * v + tail_constant y * r.
Proof.
  intros Hy Hu Hv Hr H. pose proof (tail_constant_least y Hy) as C.
  destruct (Req_dec v 0) as [-> | Nv].
  { rewrite pow_i, Rmult_0_r in H by lia. assert (u = 0); [|nra]. destruct (Req_dec u 0) as [|N]; [assumption|].
    pose proof (pow_lt u (S k) ltac:(lra)). lra. }
  pose proof (lt_0_INR k ltac:(lia)) as K. pose proof (lt_0_INR (S k) ltac:(lia)) as K'.
  set (w := y * v). assert (W : 0 < w) by (unfold w; nra).
  set (z := INR k * u / (INR (S k) * w)).
  assert (Z : 0 <= z) by (unfold z; apply Rmult_le_pos; [nra | left; apply Rinv_0_lt_compat; nra]).
  pose proof (bernoulli (S k) z Z) as B.
  assert (E : w / INR k * z ^ S k = tail_constant y * (u ^ S k / v ^ k)).
  { unfold z, tail_constant, w. unfold Rdiv. rewrite !Rpow_mult_distr, pow_inv, !Rpow_mult_distr. cbn [pow].
    field. repeat split; try lra; apply pow_nonzero; lra. }
  assert (F : w / INR k * (1 + INR (S k) * (z - 1)) = u - w).
  { unfold z. rewrite S_INR in *. field. lra. }
  assert (G : u - w <= tail_constant y * (u ^ S k / v ^ k)).
  { rewrite <- E, <- F. apply Rmult_le_compat_l; [|exact B]. left. apply Rdiv_lt_0_compat; assumption. }
  assert (V : 0 < v ^ k) by (apply pow_lt; lra).
  assert (u ^ S k / v ^ k <= r).
  { apply Rmult_le_reg_r with (v ^ k); [exact V|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (tail_constant y * (u ^ S k / v ^ k) <= tail_constant y * r) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(** ** The filter *)

Section Filter.
Context {G : graph}.

(** Stop, or charge a price T and d for an answer, and go on by what came out: a tree of [Sum.v], where eps is T now. *)
Fixpoint fair (s : strategy G) := match s with
  | Stop => True
  | Ask T d n chance next =>
      1 <= T /\ 0 <= d /\ (forall a, distribution n (chance a)) /\
      (forall a b, near a b -> priced T d n (chance a) (chance b)) /\ forall i, (i < n)%nat -> fair (next i)
  end.

(** After prices t and d, a charge is admitted if what is noted after it, t' for the prices, which may be rounded up, is at most
    B, and the sum of the d at most D. *)
Fixpoint affordable B D t d (s : strategy G) := match s with
  | Stop => True
  | Ask T d' n _ next => d + d' <= D /\
      exists t', t * T <= t' /\ t' <= B /\ forall i, (i < n)%nat -> affordable B D t' (d + d') (next i)
  end.

Lemma mean_within a (s : strategy G) f : fair s -> (forall t, probability (f t)) -> probability (mean a s f).
Proof.
  revert f; induction s as [|T d n chance next IH]; simpl; intros f H Hf; [apply Hf|].
  destruct H as (_ & _ & Hd & _ & Hn). apply mean_probability; [apply Hd|]. intros i Hi; apply IH; auto.
Qed.

(** What was seen so far is as likely as u at one dataset, in part, and as v at the other. *)
Lemma renyi_functions y B D s : 0 < y -> forall t d u v r f a b,
  fair s -> affordable B D t d s -> 0 < t -> t <= B -> d <= D -> near a b -> (forall l, probability (f l)) ->
  0 <= u -> 0 <= v -> 0 <= r -> u ^ S k <= r * t * v ^ k ->
  u * mean a s f <= y * (v * mean b s f) + tail_constant y * B * r + u * (D - d).
Proof.
  intros Hy. pose proof (tail_constant_least y Hy) as C.
  induction s as [|T d' n chance next IH]; cbn [fair affordable mean]; intros t d u v r f a b H A Ht HB Hd N Hf Hu Hv Hr P.
  - destruct (Hf nil) as [F0 F1]. pose proof (excess y u v (B * r) Hy Hu Hv ltac:(nra)) as K.
    assert (0 <= v ^ k) by (apply pow_le; assumption). assert (Q : u ^ S k <= B * r * v ^ k).
    { eapply Rle_trans; [exact P|]. apply Rmult_le_compat_r; [assumption|]. clear P; nra. }
    specialize (K Q).
    assert (0 <= tail_constant y * B * r) by (apply Rmult_le_pos; [apply Rmult_le_pos|]; lra).
    assert (u * f nil <= (y * v + tail_constant y * (B * r)) * f nil) by (apply Rmult_le_compat_r; assumption). nra.
  - destruct H as (H1 & H2 & Hp & Hc & Hn), A as (A1 & t' & A2 & A3 & An).
    destruct (Hc a b N) as (part & rs & Hi & Lack & Cost). destruct (Hp a) as [Pa _], (Hp b) as [Pb _].
    assert (T' : 0 < t') by nra.
    (* each answer: the part, by induction, and what it lacks *)
    assert (E : u * total n (fun i => mean a (next i) (fun l => f (i :: l)%list) * chance a i) <=
                total n (fun i => 1 * (y * v * (mean b (next i) (fun l => f (i :: l)%list) * chance b i) +
                                       tail_constant y * B * (r / T) * rs i) +
                                  1 * (u * (D - d - d') * part i + u * (chance a i - part i)))).
    { rewrite <- total_times. apply total_le. intros i L. destruct (Hi i L) as (R1 & R2 & R3). specialize (Pb i L).
      set (fi := fun l => f (i :: l)%list). assert (Fi : forall l, probability (fi l)) by (intros; apply Hf).
      pose proof (mean_within a (next i) fi (Hn i L) Fi) as [M0 M1].
      specialize (IH i t' (d + d') (u * part i) (v * chance b i) (r * rs i / T) fi a b (Hn i L) (An i L) T' A3 A1 N Fi).
      assert (Q : (u * part i) ^ S k <= r * rs i / T * t' * (v * chance b i) ^ k).
      { rewrite !Rpow_mult_distr.
        assert (0 <= part i ^ S k) by (apply pow_le; lra). assert (0 <= v ^ k) by (apply pow_le; assumption).
        assert (0 <= chance b i ^ k) by (apply pow_le; assumption). assert (0 <= u ^ S k) by (apply pow_le; assumption).
        apply Rle_trans with (r * t * v ^ k * (rs i * chance b i ^ k)).
        - apply Rmult_le_compat; assumption.
        - replace (r * rs i / T * t' * (v ^ k * chance b i ^ k)) with (r * rs i * (t' / T) * (v ^ k * chance b i ^ k))
            by (field; lra).
          assert (t <= t' / T).
          { apply Rmult_le_reg_r with T; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
          replace (r * t * v ^ k * (rs i * chance b i ^ k)) with (r * rs i * t * (v ^ k * chance b i ^ k)) by ring.
          apply Rmult_le_compat_r; [apply Rmult_le_pos; assumption|]. apply Rmult_le_compat_l; [nra | assumption]. }
      assert (R0 : 0 <= r * rs i / T).
      { unfold Rdiv. apply Rmult_le_pos; [nra|]. left; apply Rinv_0_lt_compat; lra. }
      specialize (IH ltac:(nra) ltac:(nra) R0 Q).
      replace (tail_constant y * B * (r / T) * rs i) with (tail_constant y * B * (r * rs i / T)) by (field; lra).
      assert (0 <= u * (chance a i - part i)) by nra. fold fi in IH |- *.
      assert (mean a (next i) fi * (u * (chance a i - part i)) <= 1 * (u * (chance a i - part i)))
        by (apply Rmult_le_compat_r; assumption). nra. }
    eapply Rle_trans; [exact E|]. rewrite total_plus.
    replace (total n (fun i => y * v * (mean b (next i) (fun l => f (i :: l)%list) * chance b i) +
                               tail_constant y * B * (r / T) * rs i))
      with (y * v * total n (fun i => mean b (next i) (fun l => f (i :: l)%list) * chance b i) +
            tail_constant y * B * (r / T) * total n rs) by (symmetry; apply total_plus).
    replace (total n (fun i => u * (D - d - d') * part i + u * (chance a i - part i)))
      with (u * (D - d - d') * total n part + u * total n (fun i => chance a i - part i)) by (symmetry; apply total_plus).
    assert (F : tail_constant y * B * (r / T) * total n rs <= tail_constant y * B * r).
    { assert (r / T * total n rs <= r).
      { apply Rle_trans with (r / T * T); [|right; field; lra]. apply Rmult_le_compat_l; [|exact Cost].
        unfold Rdiv. apply Rmult_le_pos; [assumption|]. left; apply Rinv_0_lt_compat; lra. }
      rewrite Rmult_assoc. apply Rmult_le_compat_l; [nra | assumption]. }
    assert (L : total n part <= 1).
    { destruct (Hp a) as [_ <-]. apply total_le. intros i L. apply Hi, L. }
    assert (0 <= total n part) by (apply total_least; intros i L'; apply Hi, L').
    assert (u * (D - d - d') * total n part <= u * (D - d - d')).
    { rewrite <- (Rmult_1_r (u * (D - d - d'))) at 2. apply Rmult_le_compat_l; [nra | exact L]. }
    assert (u * total n (fun i => chance a i - part i) <= u * d') by (apply Rmult_le_compat_l; assumption).
    lra.
Qed.

(** The theorem: every function of the transcript with values from 0 to 1, and every set of transcripts. *)
Theorem renyi_is_a_filter eps B D s S a b : 1 <= B -> 0 <= D -> fair s -> affordable B D 1 0 s -> near a b ->
  transcripts a s S <= exp eps * transcripts b s S + (D + B * tail_constant (exp eps)).
Proof.
  intros HB HD H A N.
  pose proof (renyi_functions (exp eps) B D s (exp_pos eps) 1 0 1 1 1 (fun t => if S t then 1 else 0) a b) as K.
  rewrite !pow1 in K. fold (transcripts a s S) (transcripts b s S) in K.
  assert (E : 1 * transcripts a s S <= exp eps * (1 * transcripts b s S) + tail_constant (exp eps) * B * 1 + 1 * (D - 0)).
  { apply K; auto; try lra. intros l; destruct (S l); split; lra. }
  lra.
Qed.

(** The filter as the ledger runs it, as [played] in Sum.v: whoever asks is a function of what was seen, for N questions at
    most, and what does not fit is refused. [noted] is what is noted of a product: no less, so rounded up. *)
Definition fair_question (q : question G) :=
  1 <= fst (charged q) /\ 0 <= snd (charged q) /\ (forall a, distribution (answers q) (law q a)) /\
  forall a b, near a b -> priced (fst (charged q)) (snd (charged q)) (answers q) (law q a) (law q b).

Variable noted : R -> R.
Hypothesis noted_above : forall x, x <= noted x.

Fixpoint renyi_played B D (asker : list nat -> question G) N t d (seen : list nat) := match N with
  | O => Stop
  | S N =>
      let q := asker seen in
      let t' := noted (t * fst (charged q)) in
      if Rle_dec t' B then if Rle_dec (d + snd (charged q)) D then
        Ask (fst (charged q)) (snd (charged q)) (answers q) (law q) (fun i =>
          renyi_played B D asker N t' (d + snd (charged q)) (seen ++ i :: nil))
      else Stop else Stop
  end.

Lemma renyi_played_affordable B D asker N : forall t d seen, affordable B D t d (renyi_played B D asker N t d seen).
Proof.
  induction N as [|N IH]; cbn [renyi_played]; intros t d seen; [exact I|].
  destruct Rle_dec as [L|]; [|exact I]. destruct Rle_dec; [|exact I]. cbn [affordable].
  split; [assumption|]. exists (noted (t * fst (charged (asker seen)))). auto.
Qed.

Lemma renyi_played_fair B D asker N :
  (forall t, fair_question (asker t)) -> forall t d seen, fair (renyi_played B D asker N t d seen).
Proof.
  intros H; induction N as [|N IH]; cbn [renyi_played]; intros t d seen; [exact I|].
  destruct Rle_dec; [|exact I]. destruct Rle_dec; [|exact I].
  destruct (H seen) as (? & ? & ? & ?). cbn [fair]. refine (conj _ (conj _ (conj _ (conj _ _)))); auto.
Qed.

(** However many questions, chosen however: the bound is the same for all N. The budget is split at registration: D is set aside
    for the sum of the d, and B is what is left of delta, by the constant. *)
Theorem renyi_whatever_is_asked eps delta B D asker N S a b : 1 <= B -> 0 <= D ->
  D + B * tail_constant (exp eps) <= delta -> (forall t, fair_question (asker t)) -> near a b ->
  let s := renyi_played B D asker N 1 0 nil in transcripts a s S <= exp eps * transcripts b s S + delta.
Proof.
  intros HB HD Split H near s. eapply Rle_trans; [|apply Rplus_le_compat_l, Split].
  apply renyi_is_a_filter; auto; [apply renyi_played_fair, H | apply renyi_played_affordable].
Qed.

End Filter.
End Order.
