(** Tables in integers: an entry is t out of ONE = 2^k, and everything that a certificate claims of entries is checked in Z.

    [fits] and its kin are the inequalities of Definition 1 without denominators, for a rational ratio in the place of e^eps.
    What they accept is private for every larger ratio as well, so a ratio rounded down proves privacy; and [ceiling], with a
    ratio rounded up, bounds what any private mechanism can do. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz.
From Duotone Require Import Step.
Open Scope R_scope.

(** [t] may stand beside [q], and [t + 1] may not. *)
Definition tight (one : Z) (may : Z -> Z -> bool) (t q : Z) : bool := (may t q && (Z.eqb t one || negb (may (t + 1) q)))%bool%Z.

Section Table.
Variables (one : Z) (ratio delta : Q).

(** a <= ratio * b + delta * ONE *)
Definition fits (a b : Z) : bool :=
  Z.leb (Zpos (Qden ratio * Qden delta) * a)
        (Qnum ratio * Zpos (Qden delta) * b + Zpos (Qden ratio) * Qnum delta * one).

(** Both answers, both ways round. *)
Definition allowed (p q : Z) : bool :=
  (fits p q && fits q p && fits (one - p) (one - q) && fits (one - q) (one - p))%bool%Z.

Definition up (n d : Z) : Z := (- ((- n) / d))%Z.

(** No mechanism that is private for a smaller ratio has more than this beside one that has at most [top]. *)
Definition ceiling (top : Z) : Z :=
  Z.min one (Z.min
    (up (Qnum ratio * Zpos (Qden delta) * top + Zpos (Qden ratio) * Qnum delta * one) (Zpos (Qden ratio * Qden delta)))
    (one - Zpos (Qden ratio) * (Zpos (Qden delta) * (one - top) - Qnum delta * one) / (Zpos (Qden delta) * Qnum ratio))).

End Table.

Lemma up_least n d : (0 < d)%Z -> (n <= d * up n d)%Z.
Proof. intros; unfold up. pose proof (Z.mul_div_le (- n) d H). lia. Qed.

Lemma Q2R_parts q : Q2R q * IZR (Zpos (Qden q)) = IZR (Qnum q).
Proof. unfold Q2R; field. apply not_0_IZR; lia. Qed.

(** The probability that an entry stands for. *)
Definition part (one t : Z) : R := IZR t / IZR one.

Section Meaning.
Variables (one : Z) (y d : Q).
Hypothesis one_positive : (0 < one)%Z.

Let One : 0 < IZR one.
Proof. apply IZR_lt; assumption. Qed.

Lemma part_probability t : (0 <= t <= one)%Z -> probability (part one t).
Proof.
  intros [A B]; apply IZR_le in A, B; unfold part; split.
  - apply Rmult_le_pos; [assumption | left; apply Rinv_0_lt_compat, One].
  - apply Rmult_le_reg_r with (IZR one); [exact One|]. field_simplify; lra.
Qed.

Lemma part_no t : 1 - part one t = part one (one - t).
Proof. unfold part; rewrite minus_IZR; field; lra. Qed.

Lemma part_le a b : (a <= b)%Z <-> part one a <= part one b.
Proof.
  unfold part; split; intros H.
  - apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, One | apply IZR_le, H].
  - apply le_IZR. apply Rmult_le_reg_r with (/ IZR one); [apply Rinv_0_lt_compat, One | exact H].
Qed.

(** What [fits] compares. *)
Lemma fits_iff a b : fits one y d a b = true <-> part one a <= Q2R y * part one b + Q2R d.
Proof.
  unfold fits, part, Q2R. rewrite Z.leb_le. destruct y as [yn yd], d as [dn dd]; simpl Qnum; simpl Qden.
  assert (Y : 0 < IZR (Zpos yd)) by (apply IZR_lt; lia). assert (D : 0 < IZR (Zpos dd)) by (apply IZR_lt; lia).
  rewrite Pos2Z.inj_mul.
  assert (K : IZR a / IZR one <= IZR yn * / IZR (Zpos yd) * (IZR b / IZR one) + IZR dn * / IZR (Zpos dd) <->
              IZR (Zpos yd) * IZR (Zpos dd) * IZR a <=
              IZR yn * IZR (Zpos dd) * IZR b + IZR (Zpos yd) * IZR dn * IZR one).
  { set (c := IZR (Zpos yd) * IZR (Zpos dd) * IZR one).
    assert (0 < c) by (unfold c; repeat apply Rmult_lt_0_compat; assumption).
    replace (IZR (Zpos yd) * IZR (Zpos dd) * IZR a) with (c * (IZR a / IZR one)) by (unfold c; field; lra).
    replace (IZR yn * IZR (Zpos dd) * IZR b + IZR (Zpos yd) * IZR dn * IZR one)
      with (c * (IZR yn * / IZR (Zpos yd) * (IZR b / IZR one) + IZR dn * / IZR (Zpos dd))) by (unfold c; field; lra).
    split; intros L; [apply Rmult_le_compat_l; lra | apply Rmult_le_reg_l with c; assumption]. }
  rewrite K, <- !mult_IZR, <- plus_IZR. split; [apply IZR_le | apply le_IZR].
Qed.

Variable P : privacy.

(** The check is Definition 1 for the rational ratio itself: it accepts what is private, and nothing else. *)
Theorem allowed_iff p q :
  Step.ratio P = Q2R y -> Step.delta P = Q2R d -> (0 <= p <= one)%Z -> (0 <= q <= one)%Z ->
  (allowed one y d p q = true <-> hidden P (part one p) (part one q) /\ hidden P (part one q) (part one p)).
Proof.
  intros Ey Ed Hp Hq. unfold allowed; rewrite !Bool.andb_true_iff, !fits_iff, <- !part_no.
  rewrite private_iff_step by (apply part_probability; assumption). rewrite !le_step, Ey, Ed.
  destruct (part_probability p Hp), (part_probability q Hq). intuition lra.
Qed.

(** ... so it proves privacy for e^eps, given that the ratio is not above it. *)
Theorem allowed_sound p q :
  0 <= Q2R y <= Step.ratio P -> Step.delta P = Q2R d -> (0 <= p <= one)%Z -> (0 <= q <= one)%Z ->
  allowed one y d p q = true -> part one p <= step P (part one q) /\ part one q <= step P (part one p).
Proof.
  intros Ey Ed Hp Hq. unfold allowed; rewrite !Bool.andb_true_iff, !fits_iff, <- !part_no.
  rewrite !le_step, Ed. destruct (part_probability p Hp), (part_probability q Hq). intuition nra.
Qed.

(** An entry passes [tight] exactly when it is the largest that privacy allows beside [q]: phi, rounded down. *)
Theorem tight_iff t q :
  Step.ratio P = Q2R y -> Step.delta P = Q2R d -> (0 <= t <= one)%Z -> (0 <= q <= one)%Z ->
  (tight one (allowed one y d) t q = true <->
   part one t <= step P (part one q) /\ forall s, (s <= one)%Z -> part one s <= step P (part one q) -> (s <= t)%Z).
Proof.
  intros Ey Ed Ht Hq.
  assert (A : forall s, (0 <= s <= one)%Z ->
    (allowed one y d s q = true <-> part one s <= step P (part one q) /\ part one q <= step P (part one s))).
  { intros s Hs. rewrite allowed_iff by assumption. apply private_iff_step; apply part_probability; assumption. }
  unfold tight; rewrite Bool.andb_true_iff, Bool.orb_true_iff, Z.eqb_eq, A by assumption. split.
  - intros [[Ht1 Ht2] Most]; split; [assumption|]. intros s Hs1 Hs2.
    destruct (Z_le_gt_dec s t) as [L | L]; [assumption|]. destruct Most as [-> | Most]; [lia|].
    assert (part one (t + 1) <= part one s) by (apply part_le; lia).
    assert (part one t <= part one (t + 1)) by (apply part_le; lia).
    rewrite (proj2 (A (t + 1)%Z ltac:(lia))) in Most; [discriminate|]. split; [lra|].
    eapply Rle_trans; [exact Ht2 | apply step_increases; assumption].
  - intros [Ht1 Most].
    assert (Q : (q <= t)%Z) by (destruct (part_probability q Hq); apply Most; [lia | apply step_extends; assumption]).
    destruct (part_probability t Ht). apply part_le in Q. split; [split; [assumption | ] | ].
    + eapply Rle_trans; [exact Q | apply step_extends; assumption].
    + destruct (Z.eq_dec t one) as [E | E]; [left; exact E | right].
      destruct (allowed one y d (t + 1) q) eqn:T; [|reflexivity]. apply A in T; [|lia].
      specialize (Most (t + 1)%Z ltac:(lia) (proj1 T)). lia.
Qed.

(** The bound from above: e^eps is at most [y] here. *)
Theorem ceiling_sound x top :
  Step.ratio P <= Q2R y -> Step.delta P = Q2R d -> probability x -> x <= part one top ->
  step P x <= part one (ceiling one y d top).
Proof.
  intros Ey Ed Hx L. of_privacy P. set (s := step P x).
  destruct (proj1 (le_step P x s) (Rle_refl _)) as (S1 & S2 & S3). assert (0 <= s) by (apply step_probability, Hx).
  unfold ceiling. destruct y as [yn yd] eqn:Ye, d as [dn dd] eqn:De; cbn [Qnum Qden].
  unfold Q2R in Ey, Ed; cbn [Qnum Qden] in Ey, Ed.
  assert (Yd : 0 < IZR (Zpos yd)) by (apply IZR_lt; lia). assert (Dd : 0 < IZR (Zpos dd)) by (apply IZR_lt; lia).
  assert (Yn : IZR (Zpos yd) <= IZR yn).
  { apply Rmult_le_reg_r with (/ IZR (Zpos yd)); [apply Rinv_0_lt_compat, Yd|]. rewrite Rinv_r by lra. lra. }
  assert (T : IZR one * x <= IZR top).
  { unfold part in L. apply Rmult_le_compat_l with (r := IZR one) in L; [|lra].
    replace (IZR one * (IZR top / IZR one)) with (IZR top) in L by (field; lra). exact L. }
  (* in integers: each of the three is at least ONE * s *)
  assert (G : forall c, IZR one * s <= IZR c -> s <= part one c).
  { intros c Hc. unfold part. apply Rmult_le_reg_l with (IZR one); [exact One|].
    replace (IZR one * (IZR c / IZR one)) with (IZR c) by (field; lra). exact Hc. }
  apply G.
  assert (C1 : IZR one * s <= IZR one) by nra.
  assert (C2 : IZR one * s <= IZR (up (yn * Zpos dd * top + Zpos yd * dn * one) (Zpos (yd * dd)))).
  { pose proof (up_least (yn * Zpos dd * top + Zpos yd * dn * one) (Zpos (yd * dd)) ltac:(lia)) as U.
    apply IZR_le in U. rewrite mult_IZR, plus_IZR, !mult_IZR, Pos2Z.inj_mul, mult_IZR in U.
    set (u := IZR (up _ _)) in *.
    apply Rmult_le_reg_l with (IZR (Zpos yd) * IZR (Zpos dd)); [nra|]. eapply Rle_trans; [|exact U].
    replace (Step.delta P) with (IZR dn * / IZR (Zpos dd)) in S2.
    assert (s <= IZR yn * / IZR (Zpos yd) * x + IZR dn * / IZR (Zpos dd)) as S2'.
    { eapply Rle_trans; [exact S2|]. apply Rplus_le_compat_r, Rmult_le_compat_r; [apply Hx | exact Ey]. }
    assert (IZR (Zpos yd) * IZR (Zpos dd) * s <= IZR yn * IZR (Zpos dd) * x + IZR (Zpos yd) * IZR dn) as S2''.
    { apply Rmult_le_compat_l with (r := IZR (Zpos yd) * IZR (Zpos dd)) in S2'; [|nra].
      replace (IZR (Zpos yd) * IZR (Zpos dd) * (IZR yn * / IZR (Zpos yd) * x + IZR dn * / IZR (Zpos dd)))
        with (IZR yn * IZR (Zpos dd) * x + IZR (Zpos yd) * IZR dn) in S2' by (field; lra). exact S2'. }
    apply Rmult_le_compat_l with (r := IZR one) in S2''; [|lra].
    assert (IZR yn * IZR (Zpos dd) * (IZR one * x) <= IZR yn * IZR (Zpos dd) * IZR top) by (apply Rmult_le_compat_l; nra).
    lra. }
  assert (C3 : IZR one * s <= IZR (one - Zpos yd * (Zpos dd * (one - top) - dn * one) / (Zpos dd * yn))).
  { assert (0 < Zpos dd * yn)%Z as N by (apply lt_IZR; rewrite mult_IZR; nra).
    pose proof (Z.mul_div_le (Zpos yd * (Zpos dd * (one - top) - dn * one)) (Zpos dd * yn) N) as U.
    set (f := (Zpos yd * (Zpos dd * (one - top) - dn * one) / (Zpos dd * yn))%Z) in *.
    apply IZR_le in U. rewrite ?mult_IZR, ?minus_IZR, ?mult_IZR, ?minus_IZR in U. rewrite minus_IZR.
    replace (Step.delta P) with (IZR dn * / IZR (Zpos dd)) in S3.
    assert (1 - x <= IZR yn * / IZR (Zpos yd) * (1 - s) + IZR dn * / IZR (Zpos dd)) as S3'.
    { eapply Rle_trans; [exact S3|]. apply Rplus_le_compat_r, Rmult_le_compat_r; [lra | exact Ey]. }
    assert (IZR (Zpos yd) * IZR (Zpos dd) * (1 - x) <= IZR yn * IZR (Zpos dd) * (1 - s) + IZR (Zpos yd) * IZR dn) as S3''.
    { apply Rmult_le_compat_l with (r := IZR (Zpos yd) * IZR (Zpos dd)) in S3'; [|nra].
      replace (IZR (Zpos yd) * IZR (Zpos dd) * (IZR yn * / IZR (Zpos yd) * (1 - s) + IZR dn * / IZR (Zpos dd)))
        with (IZR yn * IZR (Zpos dd) * (1 - s) + IZR (Zpos yd) * IZR dn) in S3' by (field; lra). exact S3'. }
    apply Rmult_le_compat_l with (r := IZR one) in S3''; [|lra].
    assert (IZR (Zpos yd) * IZR (Zpos dd) * (IZR one - IZR top) <= IZR (Zpos yd) * IZR (Zpos dd) * (IZR one - IZR one * x))
      by (apply Rmult_le_compat_l; nra).
    assert (IZR (Zpos dd) * IZR yn * IZR f <= IZR (Zpos dd) * IZR yn * (IZR one * (1 - s))) as F by lra.
    apply Rmult_le_reg_l in F; [lra | nra]. }
  destruct (Z.min_spec one (Z.min (up (yn * Zpos dd * top + Zpos yd * dn * one) (Zpos (yd * dd)))
    (one - Zpos yd * (Zpos dd * (one - top) - dn * one) / (Zpos dd * yn)))) as [[_ ->] | [_ ->]]; [exact C1|].
  destruct (Z.min_spec (up (yn * Zpos dd * top + Zpos yd * dn * one) (Zpos (yd * dd)))
    (one - Zpos yd * (Zpos dd * (one - top) - dn * one) / (Zpos dd * yn))) as [[_ ->] | [_ ->]]; assumption.
Qed.

End Meaning.
