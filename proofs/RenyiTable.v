(** Tables under one Rényi order, in integers: the two inequalities of RenyiStep.v for s and t out of ONE, a price and a d that
    are rational, without denominators (`Curve.close_on` in the code). They accept what is private, and nothing else. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz Bool.
From Duotone Require Import Closeness Renyi RenyiStep Table LineCheck.
Open Scope Z_scope.

(** x^n by squares. *)
Fixpoint power_of (n : positive) (x : Z) : Z :=
  match n with xH => x | xO n => power_of n (x * x) | xI n => x * power_of n (x * x) end.

Section Integers.
(** ONE; the order less 1; the price; and d. *)
Variables (one : Z) (k : positive) (T d : Q).

(** v beside u <= v, where what is compared last is as long as all else. *)
Definition within (right : Z) (u v : Z) : bool :=
  let up := Z.max 0 (Zpos (Qden d) * v - Qnum d * one) in
  let down := Zpos (Qden d) * (one - v) in
  let most := power_of k u in
  let least := power_of k (one - u) in
  Zpos (Qden T) * (up * power_of k up * least + down * power_of k down * most) <=? right * (most * least).

Definition by_price : Z -> Z -> bool :=
  let right := Qnum T * (Zpos (Qden d) * power_of k (Zpos (Qden d))) * one in
  fun p q => let s := Z.min p q in let t := Z.max p q in within right s t && within right (one - t) (one - s).

(** The lowest entry that may not stand beside [top], between one that may and one that may not. *)
Fixpoint refused (fuel : nat) (low high top : Z) : Z :=
  match fuel with
  | O => high
  | S fuel => if high - low <=? 1 then high else
              let middle := (low + high) / 2 in
              if by_price middle top then refused fuel middle high top else refused fuel low middle top
  end.

Definition halvings : nat := Z.to_nat (Z.log2_up one).

(** No private mechanism has more than this beside one that has at most [top]. *)
Definition renyi_rise (top : Z) : Z :=
  if top =? 0 then up (Qnum d * one) (Zpos (Qden d)) else
  if (one <=? top) || by_price one top then one else refused halvings top one top.

(** The largest entry that is private beside [t]. *)
Definition renyi_down (t : Z) : Z := if by_price one t then one else refused halvings t one t - 1.

(** ... and no balanced mechanism more than this, if [t] is the largest. *)
Definition renyi_balanced (t : Z) : Z := if (one <=? t) || (2 * (t + 1) <? one) then one else t + 1.

End Integers.

Open Scope R_scope.

Lemma power_of_is n x : IZR (power_of n x) = IZR x ^ Pos.to_nat n.
Proof.
  revert x; induction n as [n IH | n IH |]; intros x; cbn [power_of].
  - rewrite mult_IZR, IH, mult_IZR, Pos2Nat.inj_xI. cbn [pow]. rewrite Rpow_mult_distr, <- pow_add. do 2 f_equal. lia.
  - rewrite IH, mult_IZR, Pos2Nat.inj_xO, Rpow_mult_distr, <- pow_add. f_equal. lia.
  - rewrite Pos2Nat.inj_1. simpl. ring.
Qed.

Section Meaning.
Variables (one : Z) (k : positive) (T d : Q).
Hypothesis one_positive : (0 < one)%Z.

Let One : 0 < IZR one.
Proof. apply IZR_lt; assumption. Qed.

Notation n := (Pos.to_nat k).
Notation part := (part one).
Let right := (Qnum T * (Zpos (Qden d) * power_of k (Zpos (Qden d))) * one)%Z.

(** What [within] compares. *)
Theorem within_iff u v : within one k T d right u v = true <-> affords n (Q2R T) (Q2R d) (part v) (part u).
Proof.
  unfold within, affords, right. rewrite Z.leb_le.
  set (N := IZR one) in *. set (e := IZR (Zpos (Qden d))). set (h := IZR (Zpos (Qden T))).
  assert (E : 0 < e) by (apply IZR_lt; lia). assert (H : 0 < h) by (apply IZR_lt; lia).
  assert (Nd : IZR (Qnum d) = Q2R d * e) by (symmetry; apply Q2R_parts).
  assert (NT : IZR (Qnum T) = Q2R T * h) by (symmetry; apply Q2R_parts).
  assert (Pu : IZR u = N * part u) by (unfold Table.part; fold N; field; lra).
  assert (Pv : IZR v = N * part v) by (unfold Table.part; fold N; field; lra).
  assert (Up : IZR (Z.max 0 (Zpos (Qden d) * v - Qnum d * one)) = e * N * Rmax 0 (part v - Q2R d)).
  { assert (X : IZR (Zpos (Qden d) * v - Qnum d * one) = e * N * (part v - Q2R d)).
    { rewrite minus_IZR, !mult_IZR, Nd, Pv. fold e N. ring. }
    assert (P : 0 < e * N) by nra.
    destruct (Z.max_spec 0 (Zpos (Qden d) * v - Qnum d * one)) as [[L ->] | [L ->]].
    - apply IZR_lt in L. rewrite X in *. rewrite Rmax_right; [reflexivity|]. nra.
    - apply IZR_le in L. rewrite X in L. rewrite Rmax_left; [ring | nra]. }
  set (a := part v) in *. set (b := part u) in *. set (r := Rmax 0 (a - Q2R d)) in *.
  assert (K : forall x y, IZR x <= IZR y <-> (x <= y)%Z) by (intros; split; [apply le_IZR | apply IZR_le]).
  rewrite <- K. rewrite !mult_IZR, plus_IZR, !mult_IZR, !power_of_is, Up, !mult_IZR, !minus_IZR, NT, Pu, Pv.
  fold e h N. replace (N - N * b) with (N * (1 - b)) by ring. replace (N - N * a) with (N * (1 - a)) by ring.
  rewrite !Rpow_mult_distr. cbn [pow].
  set (c := h * (e * e ^ n) * N * (N ^ n * N ^ n)).
  assert (C : 0 < c).
  { pose proof (pow_lt N n One). pose proof (pow_lt e n E). unfold c. repeat apply Rmult_lt_0_compat; assumption. }
  assert (F : forall x y, c * x <= c * y <-> x <= y).
  { intros x y; split; intros L; [apply Rmult_le_reg_l with c; assumption | apply Rmult_le_compat_l; lra]. }
  replace (h * (e * N * r * (e ^ n * N ^ n * r ^ n) * (N ^ n * (1 - b) ^ n) +
                e * (N * (1 - a)) * (e ^ n * (N ^ n * (1 - a) ^ n)) * (N ^ n * b ^ n)))
    with (c * (r * r ^ n * (1 - b) ^ n + (1 - a) * (1 - a) ^ n * b ^ n)) by (unfold c; ring).
  replace (Q2R T * h * (e * e ^ n) * N * (N ^ n * b ^ n * (N ^ n * (1 - b) ^ n)))
    with (c * (Q2R T * (b ^ n * (1 - b) ^ n))) by (unfold c; ring).
  apply F.
Qed.

Variable Q : one_order.
Hypotheses (power_Q : power Q = n) (price_Q : price Q = Q2R T) (lost_Q : lost Q = Q2R d).

Let at_least : (1 <= n)%nat.
Proof. pose proof (power_least Q); lia. Qed.

Let price_range : 1 <= Q2R T.
Proof. pose proof (price_least Q); lra. Qed.

Let lost_between : 0 <= Q2R d < 1.
Proof. pose proof (lost_range Q); lra. Qed.

(** The check is the definition: it accepts what is private, and nothing else. *)
Theorem by_price_iff p q : (0 <= p <= one)%Z -> (0 <= q <= one)%Z ->
  (by_price one k T d p q = true <-> renyi n (Q2R T) (Q2R d) 2 (of_two (part p)) (of_two (part q))).
Proof.
  intros Hp Hq. change (renyi n (Q2R T) (Q2R d) 2 (of_two (part p)) (of_two (part q)))
    with (alike n (Q2R T) (Q2R d) (part p) (part q)).
  unfold by_price. fold right. rewrite andb_true_iff, !within_iff, <- !part_no by assumption.
  destruct (Z.le_ge_cases p q) as [L | L].
  - rewrite Z.min_l, Z.max_r by exact L. symmetry. apply alike_iff; auto; try (apply part_probability; assumption).
    apply part_le; assumption.
  - rewrite Z.min_r, Z.max_l by exact L. apply (part_le one one_positive) in L. split; intros A.
    + apply alike_sym, alike_iff; auto; apply part_probability; assumption.
    + apply alike_sym in A. apply alike_iff in A; auto; apply part_probability; assumption.
Qed.

Theorem by_price_sound p q : (0 <= p <= one)%Z -> (0 <= q <= one)%Z -> by_price one k T d p q = true ->
  part p <= step Q (part q) /\ part q <= step Q (part p).
Proof.
  intros Hp Hq H. apply by_price_iff in H; [|assumption|assumption].
  apply private_iff_step; try (apply part_probability; assumption). unfold hidden; simpl.
  rewrite power_Q, price_Q, lost_Q. exact H.
Qed.

(** What is larger than one beside it may is [refused]. *)
Lemma may_beside p q : (0 <= q <= p)%Z -> (p <= one)%Z -> part p <= step Q (part q) -> by_price one k T d p q = true.
Proof.
  intros Hq Hp H. apply by_price_iff; [lia | lia |]. apply alike_sym. unfold step in H; simpl in H.
  rewrite power_Q, price_Q, lost_Q in H.
  apply le_largest in H; auto; try (apply part_probability; [assumption | lia]). destruct H as [L | A]; [|exact A].
  apply (part_le one one_positive) in L. replace p with q by lia. apply alike_same; auto. apply part_probability; lia.
Qed.

Lemma refused_is fuel low high top : (top <= low < high)%Z -> (high <= one)%Z -> by_price one k T d high top = false ->
  (top < refused one k T d fuel low high top <= one)%Z /\ by_price one k T d (refused one k T d fuel low high top) top = false.
Proof.
  revert low high; induction fuel as [|fuel IH]; intros low high L H F; cbn [refused]; [split; [lia | exact F]|].
  destruct (Z.leb_spec (high - low) 1); [split; [lia | exact F]|].
  assert (M : (low + 1 <= (low + high) / 2 < high)%Z)
    by (split; [apply Z.div_le_lower_bound | apply Z.div_lt_upper_bound]; lia).
  destruct (by_price one k T d ((low + high) / 2) top) eqn:E; apply IH; auto; lia.
Qed.

(** The bound from above. *)
Theorem renyi_rise_sound x top : probability x -> x <= part top -> step Q x <= part (renyi_rise one k T d top).
Proof.
  intros Hx L. unfold renyi_rise. assert (Whole : part one = 1) by (unfold Table.part; field; lra).
  destruct (Z.eqb_spec top 0) as [-> | N0].
  { replace x with 0 by (unfold Table.part, Rdiv in L; rewrite Rmult_0_l in L; destruct Hx; lra).
    pose proof (renyi_selects (power Q) (price Q) (lost Q) (power_least Q) (price_least Q) (lost_range Q)) as S.
    change (step Q 0 <= part (up (Qnum d * one) (Zpos (Qden d)))). unfold step; simpl. rewrite S, lost_Q.
    pose proof (up_least (Qnum d * one) (Zpos (Qden d)) ltac:(lia)) as U. apply IZR_le in U.
    rewrite !mult_IZR, <- Q2R_parts in U. assert (E : 0 < IZR (Zpos (Qden d))) by (apply IZR_lt; lia).
    unfold Table.part. set (w := IZR (up _ _)) in *.
    apply Rmult_le_reg_r with (IZR one); [exact One|]. replace (w / IZR one * IZR one) with w by (field; lra).
    apply Rmult_le_reg_l with (IZR (Zpos (Qden d))); nra. }
  destruct (Z.leb_spec one top) as [B | B]; [simpl; rewrite Whole; apply step_most|]. cbn [orb].
  destruct (by_price one k T d one top) eqn:E; [rewrite Whole; apply step_most|].
  assert (P : (0 < top)%Z).
  { apply Z.nle_gt; intros C. assert (C' : (top < 0)%Z) by lia. destruct Hx as [X _].
    assert (part top < 0); [|lra]. unfold Table.part, Rdiv. apply IZR_lt in C'.
    assert (0 < / IZR one) by (apply Rinv_0_lt_compat, One). nra. }
  destruct (refused_is (halvings one) top one top) as [[A C] F]; try lia; auto.
  set (t := refused one k T d (halvings one) top one top) in *. apply Rnot_lt_le; intros G.
  enough (by_price one k T d t top = true) by congruence. apply may_beside; try lia.
  apply Rlt_le in G. eapply Rle_trans; [exact G|]. apply step_increases, L.
Qed.

(** ... and on balanced values. *)
Theorem renyi_balanced_sound t x : best_balanced one (by_price one k T d) t = true ->
  probability x -> x <= step Q (1 - x) -> x <= part (renyi_balanced one t).
Proof.
  intros B Hx H. unfold renyi_balanced. assert (Whole : part one = 1) by (unfold Table.part; field; lra).
  destruct (Z.leb_spec one t) as [L | L]; [cbn [orb]; rewrite Whole; apply Hx|]. cbn [orb].
  destruct (Z.ltb_spec (2 * (t + 1)) one) as [M | M]; [rewrite Whole; apply Hx|].
  unfold best_balanced in B. apply andb_prop in B as [_ B]. destruct (Z.eqb_spec t one) as [|_]; [lia|]. cbn [orb] in B.
  apply negb_true_iff in B. apply Rnot_lt_le; intros C.
  enough (by_price one k T d (t + 1) (one - t - 1) = true) by congruence. apply may_beside; try lia.
  replace (one - t - 1)%Z with (one - (t + 1))%Z by ring. rewrite <- part_no by assumption.
  apply Rlt_le in C. eapply Rle_trans; [exact C|]. eapply Rle_trans; [exact H|]. apply step_increases. lra.
Qed.

(** An entry passes [tight] exactly when it is the largest that privacy allows beside [q]: phi, rounded down. *)
Theorem renyi_tight_iff t q : (0 <= q <= t)%Z -> (t <= one)%Z -> (tight one (by_price one k T d) t q = true <->
  part t <= step Q (part q) /\ forall s, (s <= one)%Z -> part s <= step Q (part q) -> (s <= t)%Z).
Proof.
  intros Hq Ht. unfold tight. rewrite andb_true_iff, orb_true_iff, negb_true_iff, Z.eqb_eq. split.
  - intros [A B]. apply by_price_sound in A as [A _]; try lia. split; [exact A|]. intros s Hs S.
    apply Z.nlt_ge; intros C. destruct B as [-> | B]; [lia|].
    enough (by_price one k T d (t + 1) q = true) by congruence. apply may_beside; try lia.
    eapply Rle_trans; [|exact S]. apply part_le; [exact one_positive | lia].
  - intros [A B]. split; [apply may_beside; lia || exact A|]. destruct (Z.eq_dec t one) as [E | E]; [left; exact E | right].
    destruct (by_price one k T d (t + 1) q) eqn:F; [|reflexivity]. apply by_price_sound in F as [F _]; try lia.
    specialize (B (t + 1)%Z ltac:(lia) F). lia.
Qed.

End Meaning.
